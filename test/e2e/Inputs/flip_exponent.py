"""Changes the exponent of the last f32 number of a file: flip_exponent.py FILE"""

import sys

with open(sys.argv[1], "r+b") as file:
    file.seek(-2, 2)
    byte = file.read(1)[0]
    file.seek(-2, 2)
    file.write(bytes([byte ^ 0x40]))
