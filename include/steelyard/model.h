// Models of your own: layers in a row (nn::Model), and the table that names them.
//
// Promised: the meaning of what the headers in this folder declare stays within a minor version. What they
// include is part of that; all other headers may change with any release.
#pragma once

#include "nn/models.h"
