// Programs of your own on Steelyard: run() is the whole command line, and Registry adds models, engines,
// data sets and policies to the built-in ones.
//
// Promised: the meaning of what the headers in this folder declare stays within a minor version. What they
// include is part of that; all other headers may change with any release.
#pragma once

#include "app/cli/run.h"
