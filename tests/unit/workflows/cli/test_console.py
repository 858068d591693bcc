"""Printing to somebody who has had enough."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys, time, typer
from workflows.cli import console
from workflows.cli.endings import ending
print("first", flush=True)
sys.stdin.readline()
try:
    for number in range(3):
        {call}
    raise typer.Exit(3)
except BaseException as error:
    sys.exit(ending(error, debug=False, as_json=False))
"""


@pytest.mark.parametrize(
    "call",
    ["console.put('x' * 100_000)", "console.put_drawn('x ' * 100_000)", "console.put_json({'x': 'y' * 100_000})"],
)
def test_a_closed_pipe_changes_no_exit_code(call):
    """What `| head -1` does; the verdict of a gate that failed is still the exit code."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(call=call)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "first\n"
    process.stdout.close()
    process.stdin.write("\n")
    process.stdin.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 3, said
    assert said == ""
