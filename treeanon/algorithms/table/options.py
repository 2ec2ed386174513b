"""The options that searches of tables take, as data: what each is called, what it may be, and what it is for.

An option that a search takes needs an entry here to be one of the command line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Style = Literal["auto", "hierarchy", "ranges", "sets"]
STYLES: tuple[Style, ...] = ("auto", "hierarchy", "ranges", "sets")

Kind = Literal["choice", "whole", "number", "text", "flag"]


@dataclass(frozen=True)
class FlatOption:
    """One option: its name in the library; on the command line it has dashes for underscores."""

    name: str
    kind: Kind
    help: str
    choices: tuple[str, ...] = ()
    metavar: str = ""

    @property
    def flag(self) -> str:
        """The option on the command line.

        >>> FlatOption("max_groups", "whole", "how many").flag
        '--max-groups'
        """
        return "--" + self.name.replace("_", "-")


OPTIONS: dict[str, FlatOption] = {
    option.name: option
    for option in (
        FlatOption("loss", "choice", "what is made least", ("height", "gcp", "gcp_set", "precision")),
        FlatOption(
            "preference",
            "choice",
            "which k-minimal vector is taken",
            (
                "minimum_absolute_distance",
                "minimum_relative_distance",
                "maximum_distribution",
                "minimum_suppression",
            ),
        ),
        FlatOption("matrix", "flag", "build the matrix of distance vectors, as published"),
        FlatOption("metric", "choice", "cost of a group: discernibility, or wrong labels", ("dm", "cm")),
        FlatOption("label", "text", "the column that somebody may want to learn to tell (metric cm)", metavar="CLASS"),
        FlatOption(
            "method",
            "choice",
            "how groups are formed",
            ("auto", "forest", "matching", "heuristic", "near", "optimal", "dual", "ipcsd"),
        ),
        FlatOption("look_back", "whole", "look into so many groups before each for rows to swap", metavar="N"),
        FlatOption("window", "whole", "put groups together from so many next rows (method near)", metavar="N"),
        FlatOption("max_loss", "number", "the GCP that is allowed, from 0 to 1", metavar="E"),
        FlatOption("primal", "choice", "the search that is asked again and again (ipcsd)", ("onedim", "mondrian")),
        FlatOption("effort", "whole", "take so many walks, and the best of them", metavar="N"),
        FlatOption("seconds", "number", "stop after so long with the best found", metavar="S"),
        FlatOption("mode", "choice", "whether equal values may be divided", ("strict", "relaxed")),
        FlatOption("split", "choice", "where groups are cut", ("median", "ncp")),
        FlatOption("style", "choice", "how values are published", STYLES),
        FlatOption(
            "order",
            "choice",
            "the order of rows that is cut into groups",
            ("best", "adaptive", "hilbert", "idistance", "lexicographic", "user"),
        ),
        FlatOption("columns", "text", "columns to order by first, with commas (order user)", metavar="CLASSES"),
        FlatOption("form", "choice", "form of NCP whose mean is made least", ("taxonomy", "set")),
        FlatOption("block", "whole", "rows that are looked at together", metavar="N"),
        FlatOption("bits", "whole", "the curve has 2^N cells a side", metavar="N"),
        FlatOption("centers", "whole", "how many centers there are", metavar="N"),
    )
}
