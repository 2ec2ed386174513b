"""`treeanon synopsis`: show the synopsis tree of a collection, with supports and what is rare."""

from __future__ import annotations

import click

from treeanon.cli.checks import check_extra_output, refuse_own_input
from treeanon.cli.options import Command, force_option, printing_options, schema_option
from treeanon.cli.printing import print_result, printable
from treeanon.cli.reading import Reading, load_schema, read_records, reading_options


@click.command(cls=Command)
@click.argument("source", metavar="INPUT")
@schema_option
@click.option(
    "-k", type=click.IntRange(1), default=5, show_default=True, metavar="N", help="Rare are paths of fewer records."
)
@click.option(
    "--nodes",
    type=click.IntRange(0),
    default=60,
    show_default=True,
    metavar="N",
    help="Show so many nodes, those of most records; 0: all.",
)
@click.option("--ids", is_flag=True, help="Also show the numbers of the records.")
@click.option("--solution", metavar="FILE", help="Show the trees as this solution publishes them.")
@click.option("--html", metavar="FILE", help="Also write a page, with ORIGINAL data.")
@force_option
@reading_options
@printing_options
def command(
    source: str,
    schema: str,
    k: int,
    nodes: int,
    ids: bool,
    solution: str | None,
    html: str | None,
    force: bool,
    reading: Reading,
    quiet: bool,
    as_json: bool,
) -> None:
    """Show the synopsis tree of a collection: every path of values once, with the number of records that have it.

    The output contains ORIGINAL DATA. Where a path has fewer than k records, whoever knows it knows too much: that is
    what a release generalizes or disassociates. With --solution the same is shown of the release.

    \b
    treeanon synopsis patients.xml -s schema.toml -k 5
    treeanon synopsis patients.xml -s schema.toml -k 5 --solution patients.solution.json --html synopsis.html
    """
    refuse_own_input([source, schema, *([solution] if solution else [])], [html])
    check_extra_output(html, "", force=force, option="--html")
    from treeanon.forest.planting import merged
    from treeanon.io.output import open_output
    from treeanon.release.solution_file import SolutionFile
    from treeanon.reports.synopsis import synopsis_lines, synopsis_page, synopsis_view

    recipe = None if solution is None else SolutionFile.load(solution).solution
    loaded = load_schema(schema, reading)
    if recipe is not None and recipe.cut is None:
        raise click.UsageError("--solution must have one cut; this one recodes every record by itself")
    objects = "merged" if recipe is None else recipe.objects
    forest = read_records(source, loaded.with_objects(objects), reading, quiet=quiet)
    if recipe is not None:
        forest = recipe.apply(forest)
    # The paper's synopsis is of merged trees, whatever a release is of.
    view = synopsis_view(merged(forest) if forest.classes.types else forest, k, nodes or None, ids=ids)
    if html is not None:
        with open_output(html, force=force, private=recipe is None) as stream:
            stream.write(synopsis_page(view, "Synopsis of a collection").encode())
    if not quiet and not as_json:
        click.echo("\n".join(map(printable, synopsis_lines(view))))
    print_result(view.as_dict(), as_json=as_json)
