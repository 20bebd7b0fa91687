/** The memory limits of the chart's pods. */
export const POD_MEMORY_MIB = { edge: 768, conversation: 512, quota: 384, "llm-proxy": 512, console: 512 } as const;

type Pod = keyof typeof POD_MEMORY_MIB;

/**
 * Returns the variable that limits the heap as Node.js does in a pod: to 3 MiB more than half of the pod's memory limit. On a large machine,
 * Node.js would choose a higher heap limit.
 */
function heapLimitEnv(pod: Pod): Record<string, string> {
  return { NODE_OPTIONS: `--max-heap-size=${POD_MEMORY_MIB[pod] / 2 + 3}` };
}

/** The environment variables that give each service the heap limit of its pod. */
export const POD_HEAPS = {
  edge: heapLimitEnv("edge"),
  conversation: heapLimitEnv("conversation"),
  quota: heapLimitEnv("quota"),
  "llm-proxy": heapLimitEnv("llm-proxy"),
  console: heapLimitEnv("console"),
} as const satisfies Record<Pod, Record<string, string>>;
