// Precompiled for command lines over the compiler.
#include "Dataflow.h"

#include "../../../tools/common/CommandLine.h"
