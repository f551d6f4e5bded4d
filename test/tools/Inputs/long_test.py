"""long_test.py MODEL OUTPUT: runs sluice-reduce with a test that is too long for the system once {} is the path."""
import os
import sys

os.execvp("sluice-reduce", ["sluice-reduce", sys.argv[1], "--test", "true " + "{} " * 20000, "-o", sys.argv[2]])
