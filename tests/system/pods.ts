/** The memory limits of the chart's pods, in MiB. A pod that exceeds its limit is killed. */
export const POD_MEMORY_MIB = { edge: 768, conversation: 512, quota: 384, "llm-proxy": 512, console: 512 } as const;

type Pod = keyof typeof POD_MEMORY_MIB;

/**
 * Returns the environment that sets the heap limit which Node.js chooses in a pod: half of the memory limit plus 3 MiB. Without it, Node.js
 * would choose a higher limit on a large machine.
 */
function heapLimitEnv(pod: Pod): Record<string, string> {
  return { NODE_OPTIONS: `--max-heap-size=${POD_MEMORY_MIB[pod] / 2 + 3}` };
}

/** Environment of each service, so that its heap grows as in a pod. */
export const POD_HEAPS = {
  edge: heapLimitEnv("edge"),
  conversation: heapLimitEnv("conversation"),
  quota: heapLimitEnv("quota"),
  "llm-proxy": heapLimitEnv("llm-proxy"),
  console: heapLimitEnv("console"),
} as const satisfies Record<Pod, Record<string, string>>;
