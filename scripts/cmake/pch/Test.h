// Precompiled for unit tests.
#include "Room.h"

#include <catch2/catch.hpp>
