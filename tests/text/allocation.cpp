#include "support/allocation_operators.h"
