import { Alarm, type LiveBus, type LiveWriter } from "../live/index.ts";

/** Finds what no signal announces: what the conversation service changes by itself, and without Redis what another edge changes. */
const POLL_MS = 3_000;
/** Bounds the reads while many visitors write. */
const MIN_PAUSE_MS = 500;

/** What decides whether the list has changed. */
type Listed = {
  conversations: {
    id: string;
    since: string;
    last_activity_at: string;
    notes: number;
    contact?: { created_at: string };
  }[];
  agents: object[];
};

type Deps<T extends Listed> = { bus: LiveBus; list: () => Promise<T> };

/** Writes a workspace's list of conversations with people, and again after each change, until the signal is aborted. */
export async function followHandoffs<T extends Listed>(
  { bus, list }: Deps<T>,
  workspaceId: string,
  writer: LiveWriter,
  { first, signal }: { first: T; signal: AbortSignal },
): Promise<void> {
  const alarm = new Alarm(signal);
  const pause = new Alarm(signal);
  const unsubscribe = bus.subscribe({ workspaceId }, ({ type }) => {
    if (type === "changed") alarm.ring();
  });
  let written: string | undefined;
  try {
    // Something may have changed between the first read and the subscription.
    alarm.ring();
    for (let listed: T | undefined = first; !signal.aborted; ) {
      const version = listed && versionOf(listed);
      if (listed !== undefined && version !== written) {
        await writer.write("handoffs", listed);
        written = version;
      }
      await pause.wait(MIN_PAUSE_MS);
      await alarm.wait(POLL_MS);
      if (signal.aborted) return;
      // If the conversation service is away, the next poll reads again.
      listed = await list().catch(() => undefined);
    }
  } finally {
    unsubscribe();
    alarm.dispose();
    pause.dispose();
  }
}

const versionOf = ({ conversations, agents }: Listed) =>
  JSON.stringify([
    conversations.map(({ contact, ...each }) => [
      each.id,
      each.since,
      each.last_activity_at,
      each.notes,
      contact?.created_at,
    ]),
    agents,
  ]);
