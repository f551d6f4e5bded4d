// Precompiled for command lines over the compiler.
#include "Dataflow.h"

#include <CLI/CLI.hpp>
