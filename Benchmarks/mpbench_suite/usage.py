"""What the command lines of mpbench's subcommands have in common."""
import argparse
import os
import pathlib


def parser(command, text):
    """- text: the command's docstring, whose first line is its summary"""
    return argparse.ArgumentParser(prog=f"mpbench {command}", description=text,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)


def add_commands(parser, default=None):
    """The folder of the programs: it has to be given where there is no other."""
    parser.add_argument("--bin", metavar="FOLDER", type=lambda name: pathlib.Path(name).absolute(), default=default,
                        required=default is None, help="the folder of the programs" + " (%(default)s)" * bool(default))


def parse_in_lab(parser, words):
    """The options, where this runs in a lab: what is measured changes settings of the network namespace it is in."""
    options = parser.parse_args(words)
    # Which `mplab run` sets.
    if "MPLAB_SERVER" not in os.environ:
        parser.error(f"changes the network's settings, so run it in a lab: mplab run --quiet -- Benchmarks/{parser.prog} …")
    return options
