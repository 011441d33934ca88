/* Uses the interface from a C program, with two workers. One of them takes three times as long. */
#include <steelyard/steelyard.h>

#include <stdio.h>

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, steelyard_error());
  return 1;
}

int main(void) {
  if (steelyard_api() != STEELYARD_API) return fail("another interface");
  steelyard_policy* policy = steelyard_policy_new("{\"policy\": \"steelyard\", \"workers\": [{}, {}]}");
  if (policy == NULL) return fail("new");
  uint64_t shares[2] = {0, 0};
  for (int round = 0; round < 30; ++round) {
    if (steelyard_policy_plan(policy, 64, shares) != 0) return fail("plan");
    const double seconds[2] = {0.001 * (double)shares[0], 0.003 * (double)shares[1]};
    if (steelyard_policy_observe(policy, seconds) != 0) return fail("observe");
  }
  steelyard_policy_free(policy);
  printf("%d and %d of 64\n", (int)shares[0], (int)shares[1]);
  return shares[0] + shares[1] == 64 && shares[0] >= 46 && shares[0] <= 50 ? 0 : 1;
}
