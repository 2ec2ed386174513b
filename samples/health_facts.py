"""What the generator of health records draws from: illnesses, drugs, measures, places, and syllables of names.

Codes have the form of their code systems and most are theirs; names are short words of our own, and nothing here is a
copy of a terminology. Persons, staff, places and addresses do not exist.
"""

from __future__ import annotations

from typing import NamedTuple


class Illness(NamedTuple):
    """A diagnosis with what is done about it; `ages` says how common it is in childhood, in midlife and in old age."""

    icd10: str
    snomed: str
    name: str
    ages: tuple[int, int, int]
    chronic: bool = False
    drugs: tuple[str, ...] = ()
    procedures: tuple[str, ...] = ()
    panel: str = ""
    sex: str = ""


class Drug(NamedTuple):
    """A drug by its codes."""

    rxnorm: str
    atc: str
    name: str
    unit: str = "tablet"


class Measure(NamedTuple):
    """What is measured: code, name, unit, lowest and highest value, digits behind the point."""

    loinc: str
    name: str
    unit: str
    low: int
    high: int
    digits: int = 0


ILLNESSES = (
    Illness("I10", "38341003", "Hypertension", (0, 10, 22), True, ("lisinopril", "amlodipine"), (), "metabolic"),
    Illness("E11.9", "44054006", "Type 2 diabetes", (0, 6, 11), True, ("metformin",), ("foot-exam",), "metabolic"),
    Illness("E11.40", "368581000", "Type 2 diabetes with neuropathy", (0, 1, 3), True, ("metformin",), (), "metabolic"),
    Illness("E78.5", "55822004", "High blood lipids", (0, 8, 12), True, ("simvastatin",), (), "lipids"),
    Illness("E03.9", "40930008", "Underactive thyroid", (0, 3, 4), True, ("levothyroxine",)),
    Illness("E66.9", "414916001", "Obesity", (2, 5, 4), True, (), ("diet-advice",)),
    Illness("J45.909", "195967001", "Asthma", (9, 4, 3), True, ("albuterol", "fluticasone"), ("spirometry",)),
    Illness("J44.9", "13645005", "Chronic obstructive lung disease", (0, 1, 7), True, ("albuterol",), ("spirometry",)),
    Illness("J20.9", "10509002", "Acute bronchitis", (7, 7, 6), False, ("acetaminophen",)),
    Illness("J01.90", "444814009", "Acute sinusitis", (7, 9, 5), False, ("amoxicillin",)),
    Illness("J02.9", "195662009", "Acute sore throat", (10, 7, 2), False, ("acetaminophen",), ("throat-swab",)),
    Illness("J06.9", "54150009", "Cold", (12, 8, 4), False, ("acetaminophen",)),
    Illness("J18.9", "233604007", "Pneumonia", (2, 2, 6), False, ("amoxicillin",), ("chest-xray",), "blood-count"),
    Illness("J11.1", "6142004", "Influenza", (5, 4, 4), False, ("oseltamivir",)),
    Illness("H66.90", "65363002", "Ear infection", (11, 2, 1), False, ("amoxicillin",)),
    Illness("H26.9", "193570009", "Cataract", (0, 0, 6), False, (), ("cataract-surgery",)),
    Illness("H40.9", "23986001", "Glaucoma", (0, 1, 4), True, ("timolol",)),
    Illness("I25.10", "53741008", "Coronary artery disease", (0, 1, 8), True, ("aspirin", "simvastatin"), ("ecg",)),
    Illness("I48.91", "49436004", "Atrial fibrillation", (0, 1, 6), True, ("warfarin",), ("ecg",)),
    Illness("I50.9", "84114007", "Heart failure", (0, 0, 5), True, ("furosemide", "lisinopril"), ("ecg",), "metabolic"),
    Illness("I21.9", "22298006", "Heart attack", (0, 1, 3), False, ("aspirin",), ("stent",), "blood-count"),
    Illness("I63.9", "230690007", "Stroke", (0, 0, 3), False, ("aspirin",), ("head-ct",)),
    Illness("K21.9", "235595009", "Acid reflux", (1, 6, 7), True, ("omeprazole",)),
    Illness("K35.80", "74400008", "Appendicitis", (2, 1, 0), False, ("amoxicillin",), ("appendectomy",), "blood-count"),
    Illness("K80.20", "235919008", "Gallstones", (0, 2, 3), False, ("acetaminophen",), ("gallbladder-surgery",)),
    Illness("N39.0", "68566005", "Urinary tract infection", (1, 5, 6), False, ("nitrofurantoin",)),
    Illness("N18.3", "433144002", "Chronic kidney disease, stage 3", (0, 1, 6), True, ("lisinopril",), (), "metabolic"),
    Illness("N20.0", "95570007", "Kidney stone", (0, 2, 2), False, ("ibuprofen",), ("abdomen-ct",)),
    Illness("M54.50", "279039007", "Low back pain", (1, 10, 9), False, ("ibuprofen",), ("physiotherapy",)),
    Illness("M17.9", "239873007", "Arthrosis of the knee", (0, 3, 9), True, ("ibuprofen",), ("physiotherapy",)),
    Illness("M81.0", "64859006", "Osteoporosis", (0, 1, 6), True, ("alendronate",), ("bone-density",)),
    Illness("S93.401A", "44465007", "Sprained ankle", (5, 4, 1), False, ("ibuprofen",), ("ankle-xray",)),
    Illness("S52.501A", "263102004", "Fracture of the forearm", (3, 2, 2), False, ("acetaminophen",), ("cast",)),
    Illness("S01.81XA", "283371005", "Laceration of the face", (3, 2, 1), False, (), ("suture",)),
    Illness("S06.0X0A", "62106007", "Concussion", (2, 1, 1), False, ("acetaminophen",), ("head-ct",)),
    Illness("G43.909", "37796009", "Migraine", (2, 5, 1), True, ("sumatriptan",)),
    Illness("G40.909", "84757009", "Epilepsy", (2, 1, 1), True, ("levetiracetam",), ("eeg",)),
    Illness("F32.9", "35489007", "Depression", (2, 7, 4), True, ("sertraline",), ("talk-therapy",)),
    Illness("F41.1", "21897009", "Anxiety disorder", (2, 6, 2), True, ("sertraline",), ("talk-therapy",)),
    Illness("F10.20", "7200002", "Alcohol dependence", (0, 2, 1), True, (), ("talk-therapy",)),
    Illness("L20.9", "24079001", "Eczema", (6, 2, 1), True, ("hydrocortisone",)),
    Illness("L40.9", "9014002", "Psoriasis", (1, 2, 2), True, ("hydrocortisone",)),
    Illness("D50.9", "87522002", "Iron deficiency", (2, 4, 3), False, ("iron",), (), "blood-count"),
    Illness("C50.919", "254837009", "Breast cancer", (0, 1, 3), True, ("tamoxifen",), ("biopsy",), "blood-count", "F"),
    Illness("C61", "399068003", "Prostate cancer", (0, 0, 3), True, (), ("biopsy",), "blood-count", "M"),
    Illness("N40.1", "266569009", "Enlarged prostate", (0, 1, 6), True, ("tamsulosin",), (), "", "M"),
    Illness("O80", "177184002", "Delivery without complication", (0, 4, 0), False, ("iron",), ("delivery",), "", "F"),
    Illness("Z34.90", "72892002", "Pregnancy", (0, 5, 0), False, ("iron",), ("fetal-ultrasound",), "blood-count", "F"),
    Illness("A09", "25374005", "Stomach flu", (6, 4, 2)),
    Illness("B34.9", "34014006", "Viral infection", (8, 4, 2), False, ("acetaminophen",)),
)
CHECKUP = Illness("Z00.00", "162673000", "General examination", (4, 6, 8), False, (), ("medication-review",))

DRUGS = {
    "lisinopril": Drug("314076", "C09AA03", "Lisinopril 10 MG"),
    "amlodipine": Drug("308136", "C08CA01", "Amlodipine 2.5 MG"),
    "metformin": Drug("860975", "A10BA02", "Metformin 500 MG"),
    "simvastatin": Drug("312961", "C10AA01", "Simvastatin 20 MG"),
    "levothyroxine": Drug("966222", "H03AA01", "Levothyroxine 0.075 MG"),
    "albuterol": Drug("245314", "R03AC02", "Albuterol inhaler", "puff"),
    "fluticasone": Drug("895994", "R03BA05", "Fluticasone inhaler", "puff"),
    "acetaminophen": Drug("313782", "N02BE01", "Acetaminophen 325 MG"),
    "amoxicillin": Drug("308182", "J01CA04", "Amoxicillin 250 MG", "capsule"),
    "oseltamivir": Drug("728111", "J05AH02", "Oseltamivir 75 MG", "capsule"),
    "timolol": Drug("313523", "S01ED01", "Timolol eye drops", "drop"),
    "aspirin": Drug("243670", "B01AC06", "Aspirin 81 MG"),
    "warfarin": Drug("855332", "B01AA03", "Warfarin 5 MG"),
    "furosemide": Drug("310429", "C03CA01", "Furosemide 20 MG"),
    "omeprazole": Drug("198051", "A02BC01", "Omeprazole 20 MG", "capsule"),
    "nitrofurantoin": Drug("311995", "J01XE01", "Nitrofurantoin 100 MG", "capsule"),
    "ibuprofen": Drug("310965", "M01AE01", "Ibuprofen 200 MG"),
    "alendronate": Drug("904420", "M05BA04", "Alendronate 10 MG"),
    "sumatriptan": Drug("313161", "N02CC01", "Sumatriptan 50 MG"),
    "levetiracetam": Drug("311288", "N03AX14", "Levetiracetam 500 MG"),
    "sertraline": Drug("312941", "N06AB06", "Sertraline 50 MG"),
    "hydrocortisone": Drug("197787", "D07AA02", "Hydrocortisone cream", "gram"),
    "iron": Drug("310325", "B03AA07", "Ferrous sulfate 325 MG"),
    "tamoxifen": Drug("198240", "L02BA01", "Tamoxifen 10 MG"),
    "tamsulosin": Drug("863669", "G04CA02", "Tamsulosin 0.4 MG", "capsule"),
}

PROCEDURES = {
    "medication-review": ("430193006", "Medication review"),
    "diet-advice": ("103699006", "Referral to dietitian"),
    "foot-exam": ("401191002", "Diabetic foot examination"),
    "spirometry": ("127783003", "Spirometry"),
    "throat-swab": ("117015009", "Throat swab"),
    "chest-xray": ("399208008", "Chest X-ray"),
    "cataract-surgery": ("110473004", "Cataract surgery"),
    "ecg": ("29303009", "Electrocardiogram"),
    "stent": ("415070008", "Coronary stent"),
    "head-ct": ("303653007", "Computed tomography of the head"),
    "abdomen-ct": ("169070004", "Computed tomography of the abdomen"),
    "appendectomy": ("80146002", "Appendectomy"),
    "gallbladder-surgery": ("38102005", "Gallbladder removal"),
    "physiotherapy": ("91251008", "Physical therapy"),
    "bone-density": ("312681000", "Bone density scan"),
    "ankle-xray": ("19490002", "Ankle X-ray"),
    "cast": ("274474001", "Bone immobilization"),
    "suture": ("288086009", "Suture of wound"),
    "eeg": ("54550000", "Electroencephalogram"),
    "talk-therapy": ("183401008", "Psychotherapy"),
    "biopsy": ("86273004", "Biopsy"),
    "delivery": ("177157003", "Spontaneous delivery"),
    "fetal-ultrasound": ("268445003", "Ultrasound of pregnancy"),
}
IMAGING = {"chest-xray": "DX", "ankle-xray": "DX", "head-ct": "CT", "abdomen-ct": "CT", "bone-density": "DX"}

VITALS = (
    Measure("8302-2", "Body height", "cm", 148, 196),
    Measure("29463-7", "Body weight", "kg", 46, 121, 1),
    Measure("39156-5", "Body mass index", "kg/m2", 18, 39, 1),
    Measure("8867-4", "Heart rate", "/min", 56, 101),
    Measure("9279-1", "Respiratory rate", "/min", 12, 19),
    Measure("8310-5", "Body temperature", "Cel", 36, 39, 1),
)
PRESSURE = (Measure("8480-6", "Systolic", "mm[Hg]", 100, 165), Measure("8462-4", "Diastolic", "mm[Hg]", 62, 101))
PANELS = {
    "metabolic": ("51990-0", "Basic metabolic panel", (
        Measure("2339-0", "Glucose", "mg/dL", 65, 180), Measure("4548-4", "Hemoglobin A1c", "%", 4, 9, 1),
        Measure("38483-4", "Creatinine", "mg/dL", 1, 3, 1), Measure("2951-2", "Sodium", "mmol/L", 134, 146),
        Measure("6298-4", "Potassium", "mmol/L", 3, 6, 1))),
    "lipids": ("57698-3", "Lipid panel", (
        Measure("2093-3", "Total cholesterol", "mg/dL", 140, 290), Measure("2571-8", "Triglycerides", "mg/dL", 80, 250),
        Measure("18262-6", "LDL cholesterol", "mg/dL", 60, 190),
        Measure("2085-9", "HDL cholesterol", "mg/dL", 32, 80))),
    "blood-count": ("58410-2", "Blood count", (
        Measure("6690-2", "Leukocytes", "10*3/uL", 3, 12, 1), Measure("718-7", "Hemoglobin", "g/dL", 10, 17, 1),
        Measure("4544-3", "Hematocrit", "%", 35, 50), Measure("777-3", "Platelets", "10*3/uL", 140, 400))),
}  # fmt: skip

VACCINES = (
    ("140", "Influenza vaccine", "J07BB02"),
    ("113", "Tetanus and diphtheria vaccine", "J07AM51"),
    ("33", "Pneumococcal vaccine", "J07AL01"),
    ("08", "Hepatitis B vaccine", "J07BC01"),
    ("62", "Papillomavirus vaccine", "J07BM03"),
)
ALLERGIES = (
    ("91936005", "Penicillin", "medication"),
    ("91935009", "Peanut", "food"),
    ("300913006", "Shellfish", "food"),
    ("418689008", "Grass pollen", "environment"),
    ("232350006", "House dust mite", "environment"),
    ("300916003", "Latex", "environment"),
)
REACTIONS = (("271807003", "Rash"), ("49727002", "Cough"), ("247472004", "Hives"))
SMOKING = (("266919005", "Never smoked"), ("8517006", "Former smoker"), ("449868002", "Smokes every day"))

RACES = (("2106-3", "White", 60), ("2054-5", "Black", 18), ("2028-9", "Asian", 12), ("1002-5", "Native", 3))
ETHNICITIES = (("2186-5", "Not Hispanic", 82), ("2135-2", "Hispanic", 18))
LANGUAGES = (("en-US", "English", 85), ("es", "Spanish", 12), ("fr", "French", 3))
MARITAL = (("M", "Married"), ("S", "Never married"), ("D", "Divorced"), ("W", "Widowed"))
RELATIONS = (("FTH", "father"), ("MTH", "mother"), ("SPS", "spouse"), ("CHILD", "child"))

VISIT_KINDS = {
    "AMB": ("185349003", "Check-up visit"),
    "EMER": ("50849002", "Emergency visit"),
    "IMP": ("183452005", "Hospital stay"),
    "VR": ("448337001", "Telephone visit"),
}

# town, state, the codes of its postal districts
TOWNS = (
    ("Brelmouth", "MA", ("01931", "01932", "01935")),
    ("Ostervale", "MA", ("02371", "02372")),
    ("Hintersted", "MA", ("01171", "01174")),
    ("Quarrowby", "VT", ("05961",)),
    ("Lower Pendle", "NH", ("03691",)),
)
HOUSES = (
    ("Brelmouth General Hospital", "prov"),
    ("Ostervale Medical Center", "prov"),
    ("Harbor Street Practice", "prov"),
    ("Hintersted Family Health", "prov"),
    ("Northshore Urgent Care", "prov"),
)
SPECIALTIES = (("208D00000X", "General practice"), ("207R00000X", "Internal medicine"), ("207P00000X", "Emergency"))
INSURERS = (("Commonhold Health", 5), ("Public Plan", 4), ("Evergood Mutual", 2))

# names are made of these, and long enough to occur in no other word
STARTS = ("Vel", "Thor", "Quin", "Zar", "Jol", "Wyn", "Brec", "Xan", "Fjor", "Gwel", "Ulth", "Kerm")
MIDDLES = ("abri", "ondu", "ethi", "irma", "ulwo", "ascu", "eldo", "inza")
GIVEN_ENDS = {"F": ("nelia", "thessa", "vinde", "lotta"), "M": ("nulf", "trand", "berich", "dorn")}
FAMILY_ENDS = ("quist", "mordt", "zwerg", "hollow", "klamp", "vrede", "sbach", "wright")
STREETS = ("Juniperhook Lane", "Saltwhistle Road", "Old Ferrymen Way", "Cobblemarsh Street", "Windlass Court")

STORIES = (
    "arrived with {relative}, who keeps bees behind the lighthouse",
    "asked that {relative} be called at {phone} before anything is done",
    "lost work at the cannery and now lives with {relative}",
    "was seen by {doctor} after a fall from the red ladder",
    "reports that {relative} has the same complaint since the wedding",
)
