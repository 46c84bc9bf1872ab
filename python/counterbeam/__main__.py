"""`python -m counterbeam` is the command `counterbeam`."""
from counterbeam._command import main

main()
