// Precompiled for targets that know the dataflow dialect.
#include "Mlir.h"

#include "dialects/Dataflow/IR/Dataflow.h"
