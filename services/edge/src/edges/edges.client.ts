import { createClient, GrpcTransport, openChannel, type RpcClient, type RpcError } from "@parley/rpc";
import type { StoredTurn } from "@parley/rpc/conversation";
import { type AttachTurnResponse, EdgeService } from "@parley/rpc/edge";
import { type Outcome, outcomeFromProto } from "@parley/rpc/outcomes";
import { channelCredentials, MAX_GENERATION_MS } from "@parley/service-kit";

/** Must exceed STOP_TIMEOUT_MS, the longest time that the other edge waits for the stored outcome. */
const CANCEL_TIMEOUT_MS = 14_000;
/** A person who takes a session over need not wait until the outcome is stored. The turn is cancelled nevertheless. Less than the console waits. */
export const TAKEOVER_TIMEOUT_MS = 3_000;
const FIRST_RESPONSE_TIMEOUT_MS = 3_000;

/** Calls the edge that runs a turn. */
export type EdgeClients = {
  /**
   * Streams the reply of a running turn, from `offset`. Waits for the edge's first response, which is empty, and resolves with the responses that
   * follow it. A caller that does not read them to the end must call `return`. Throws RpcError. Returns undefined if the edge has no address.
   */
  attach(
    workspaceId: string,
    turn: StoredTurn,
    offset: number,
    signal: AbortSignal,
  ): Promise<AsyncGenerator<AttachTurnResponse> | undefined>;
  /**
   * Cancels a turn and returns its stored outcome. Throws RpcError. Returns undefined if the edge has no address.
   * @param isTakeover whether a person of the team cancels the turn, and not its visitor.
   */
  cancel(workspaceId: string, turn: StoredTurn, isTakeover?: boolean): Promise<Outcome | undefined>;
};

export type EdgeClientOptions = {
  tlsDir: string | undefined;
  /** The name in the edges' certificates. */
  tlsServerName: string | undefined;
  onFailure: (method: string, error: RpcError) => void;
};

/** Creates clients of other edges. Each call has its own channel. gRPC lets channels to the same address share a connection. */
export function createEdgeClients({ tlsDir, tlsServerName, onFailure }: EdgeClientOptions): EdgeClients {
  const credentials = channelCredentials(tlsDir);

  function connect({ edgeAddress, edgeToken }: StoredTurn): { client: RpcClient<typeof EdgeService>; close(): void } {
    const channel = openChannel({ target: edgeAddress, retryable: [], credentials, tlsServerName });
    const transport = new GrpcTransport(channel, (metadata) => metadata.set("authorization", `Bearer ${edgeToken}`));
    const client = createClient(EdgeService, transport, (method) => (error) => {
      if (error !== undefined) onFailure(method, error);
    });
    return { client, close: () => channel.close() };
  }

  return {
    async attach(workspaceId, turn, offset, signal) {
      if (turn.edgeAddress === "") return undefined;
      const { client, close } = connect(turn);
      const timeout = new AbortController();
      const timer = setTimeout(() => timeout.abort(), FIRST_RESPONSE_TIMEOUT_MS);
      const { edgeId, turnId } = turn;
      // If the call ends before the turn does, the caller of `attach` reads the rest of the reply from the conversation service.
      const responses = client.attachTurn(
        { edgeId, workspaceId, turnId, offset },
        { timeoutMs: MAX_GENERATION_MS, signal: AbortSignal.any([signal, timeout.signal]) },
      );
      const stream = closeAfter(responses, close);
      try {
        await stream.next();
        return stream;
      } finally {
        clearTimeout(timer);
      }
    },
    async cancel(workspaceId, turn, isTakeover = false) {
      if (turn.edgeAddress === "") return undefined;
      const { client, close } = connect(turn);
      const { edgeId, turnId } = turn;
      try {
        const request = { edgeId, workspaceId, turnId, isTakeover };
        const timeoutMs = isTakeover ? TAKEOVER_TIMEOUT_MS : CANCEL_TIMEOUT_MS;
        const { outcome } = await client.cancelTurn(request, { timeoutMs });
        return outcomeFromProto(outcome);
      } finally {
        close();
      }
    },
  };
}

/**
 * Calls `close` after the last item, after an error, or when the caller calls `return`. If the caller calls `return` before the first `next`, `close`
 * is not called.
 */
async function* closeAfter<T>(items: AsyncIterable<T>, close: () => void): AsyncGenerator<T> {
  try {
    yield* items;
  } finally {
    close();
  }
}

export function formatAddress(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
