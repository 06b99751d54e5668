"""What the command lines of mpbench's subcommands have in common."""
import argparse
import pathlib


def parser(command, text):
    """- text: the command's docstring, whose first line is its summary"""
    return argparse.ArgumentParser(prog=f"mpbench {command}", description=text,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)


def add_commands(parser, default=None):
    """The folder of the programs: it has to be given where there is no other."""
    parser.add_argument("--bin", metavar="FOLDER", type=lambda name: pathlib.Path(name).absolute(), default=default,
                        required=default is None, help="the folder of the programs" + " (%(default)s)" * bool(default))
