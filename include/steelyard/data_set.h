// Data sets of your own: labelled samples by number, and the table that names them.
//
// Promised: the meaning of what the headers in this folder declare stays within a minor version. What they
// include is part of that; all other headers may change with any release.
#pragma once

#include "core/random.h"
#include "worker/data/data_sets.h"
