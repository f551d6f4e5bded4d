// Precompiled for command lines.
#include "Room.h"

#include <CLI/CLI.hpp>
