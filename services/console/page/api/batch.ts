import { toConnectError } from "./response-error.ts";
import { fetchWithSession, readJson } from "./session-fetch.ts";

/** A Connect call of an admin method, or the query string of the edge's GET /api/conversations/. */
type BatchCall = { method: string; message: unknown } | { conversations: string };
type CallResponse = { status: number; code?: string; body: unknown };

type QueuedCall = {
  call: BatchCall;
  resolve: (response: CallResponse) => void;
  reject: (error: unknown) => void;
};

const RPC_PATH = "/api/rpc/";
/** How long a batch collects calls. Long enough for the queries that a screen starts in one render. */
const BATCH_WINDOW_MS = 5;
/** The console's backend refuses larger batches. */
const MAX_CALLS = 20;

let queue: QueuedCall[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;

/** Sends a call in one request with other calls that are made at about the same time. */
export function sendInBatch(call: BatchCall): Promise<CallResponse> {
  return new Promise((resolve, reject) => {
    queue.push({ call, resolve, reject });
    if (queue.length === 1) timer = setTimeout(() => void sendQueue(), BATCH_WINDOW_MS);
    if (queue.length === MAX_CALLS) void sendQueue();
  });
}

/** Replaces the Connect transport's `fetch`, so that its calls are sent in batches. */
export async function batchingFetch(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const method = new URL(String(input), location.href).pathname.slice(RPC_PATH.length);
  const message = JSON.parse(new TextDecoder().decode(init.body as Uint8Array<ArrayBuffer>)) as unknown;
  return toResponse(await sendInBatch({ method, message }));
}

async function sendQueue(): Promise<void> {
  const batch = queue;
  queue = [];
  clearTimeout(timer);
  try {
    const response = await fetchWithSession("/api/batch", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ calls: batch.map(({ call }) => call) }),
    });
    if (!response.ok) throw await toConnectError(response);
    const { responses } = (await readJson(response)) as { responses: CallResponse[] };
    for (const [index, { resolve, reject }] of batch.entries()) {
      const callResponse = responses[index];
      if (callResponse === undefined) reject(new Error("a response is missing"));
      else resolve(callResponse);
    }
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}

function toResponse({ status, code, body }: CallResponse): Response {
  const headers = { "Content-Type": "application/json", ...(code !== undefined && { "parley-code": code }) };
  return new Response(JSON.stringify(body), { status, headers });
}
