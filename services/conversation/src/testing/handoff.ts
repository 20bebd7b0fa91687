/** For calls whose bots have no handoff. */
export const NO_HANDOFF = {
  botConfigs: async () => undefined,
  metrics: { count: () => undefined, observeWait: () => undefined },
};
