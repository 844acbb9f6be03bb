"""The command line: `refold COMMAND ...`. Data goes to standard output, talk to standard error.

`main` runs a command and turns whatever goes wrong into one line and an exit code; `commands` finds commands without
importing the others; each further module holds commands, or one thing that several of them share.
"""
