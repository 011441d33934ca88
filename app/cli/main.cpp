#include <steelyard/run.h>

int main(int argc, char** argv) { return steelyard::run(argc, argv); }
