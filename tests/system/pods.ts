/** The memory limits of the chart's pods, in MiB. A pod that exceeds its limit is killed. */
export const POD_MEMORY_MIB = { edge: 768, conversation: 512, quota: 384, "llm-proxy": 512, console: 512 } as const;

type Pod = keyof typeof POD_MEMORY_MIB;

/** Sets the heap limit that Node.js chooses in a pod: half of the memory limit, and 3 MiB. On a large machine it would choose a higher one. */
function heapLimit(pod: Pod): Record<string, string> {
  return { NODE_OPTIONS: `--max-heap-size=${POD_MEMORY_MIB[pod] / 2 + 3}` };
}

/** Environment of each service, so that its heap grows as in a pod. */
export const POD_HEAPS = {
  edge: heapLimit("edge"),
  conversation: heapLimit("conversation"),
  quota: heapLimit("quota"),
  "llm-proxy": heapLimit("llm-proxy"),
  console: heapLimit("console"),
} as const satisfies Record<Pod, Record<string, string>>;
