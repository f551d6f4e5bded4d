"""change_profile.py PROFILE OUT: as if measured by another compiler."""

import json
import sys

profile = json.load(open(sys.argv[1]))
profile["origin"] = "another " + profile["origin"]
json.dump(profile, open(sys.argv[2], "w"))
