"""What the command `mpbench` is made of.

command      the command line: choosing rows, measuring, printing
endurance, app_figures, broker_holds, broker_stalls, programs_compare, programs_endurance, stream_compare, sync_compare
             each a command beside the table, which its docstring describes
unchanged    for programs_compare: the programs that know nothing of paths, and their server
streams, stream_picture    for stream_compare and the rows of streams: the ladder, and the picture
usage        what the command line of such a command begins with
catalogue    all rows in the table's order
rows/        the rows, a module for each group
row          what a row and a metric are
runner       makes the runs of a row; judging, figures: from samples to verdicts; compare: two results
lab          runs programs in a lab; programs/: what runs there
contenders   what the library is measured beside
table, pictures, series, traces    what is shown

Importing a module does nothing but define names; `environment.prepare()` makes what scripts/setup.sh installed usable.
"""
