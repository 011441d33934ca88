// Nothing but the place of the headers that all tests include: they are parsed once.
int main() {}
