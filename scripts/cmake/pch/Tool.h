// Precompiled for command lines.
#include "Room.h"

#include "../../../tools/common/CommandLine.h"
