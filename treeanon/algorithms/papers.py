"""The papers that searches come from, each cited in full once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """One publication."""

    authors: str
    title: str
    venue: str
    year: int

    def __str__(self) -> str:
        return f"{self.authors}: {self.title}. {self.venue}, {self.year}"


TREE = Paper(
    "O. Gkountouna, M. Terrovitis",
    "Anonymizing collections of tree-structured data",
    "IEEE Transactions on Knowledge and Data Engineering",
    2015,
)
MULTIRELATIONAL = Paper(
    "M. E. Nergiz, C. Clifton, A. E. Nergiz",
    "Multirelational k-anonymity",
    "IEEE Transactions on Knowledge and Data Engineering",
    2009,
)
SAMARATI = Paper(
    "P. Samarati",
    "Protecting respondents' identities in microdata release",
    "IEEE Transactions on Knowledge and Data Engineering",
    2001,
)
THEORY = Paper(
    "V. Ciriani, S. De Capitani di Vimercati, S. Foresti, P. Samarati",
    "k-anonymity",
    "Secure Data Management in Decentralized Systems, Springer",
    2007,
)
INCOGNITO = Paper(
    "K. LeFevre, D. J. DeWitt, R. Ramakrishnan", "Incognito: efficient full-domain k-anonymity", "ACM SIGMOD", 2005
)
DATAFLY = Paper(
    "L. Sweeney",
    "Achieving k-anonymity privacy protection using generalization and suppression",
    "International Journal on Uncertainty, Fuzziness and Knowledge-based Systems",
    2002,
)
K_OPTIMIZE = Paper("R. J. Bayardo, R. Agrawal", "Data privacy through optimal k-anonymization", "ICDE", 2005)
CELLS = Paper(
    "G. Aggarwal, T. Feder, K. Kenthapadi, R. Motwani, R. Panigrahy, D. Thomas, A. Zhu",
    "Approximation algorithms for k-anonymity",
    "Journal of Privacy Technology",
    2005,
)
MONDRIAN = Paper("K. LeFevre, D. J. DeWitt, R. Ramakrishnan", "Mondrian multidimensional k-anonymity", "ICDE", 2006)
TOP_DOWN = Paper(
    "J. Xu, W. Wang, J. Pei, X. Wang, B. Shi, A. W.-C. Fu",
    "Utility-based anonymization using local recoding",
    "ACM SIGKDD",
    2006,
)
ANATOMY = Paper("X. Xiao, Y. Tao", "Anatomy: simple and effective privacy preservation", "VLDB", 2006)
ONEDIM = Paper(
    "G. Ghinita, P. Karras, P. Kalnis, N. Mamoulis",
    "A framework for efficient data anonymization under privacy and accuracy constraints",
    "ACM Transactions on Database Systems 34(2)",
    2009,
)
FREEFORM = Paper(
    "K. Doka, M. Xue, D. Tsoumakos, P. Karras", "k-anonymization by freeform generalization", "ACM ASIA CCS", 2015
)
RINGS = Paper(
    "W. K. Wong, N. Mamoulis, D. W. Cheung",
    "Non-homogeneous generalization in privacy preserving data publishing",
    "ACM SIGMOD",
    2010,
)
