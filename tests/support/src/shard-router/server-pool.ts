import type { Socket } from "node:net";
import { Client } from "pg";
import {
  type CancelKey,
  encodeParse,
  type Message,
  MessageReader,
  type Parse,
  type TransactionStatus,
} from "./messages.ts";

/** How a client logged in. The router logs in to the shards as the same role. */
export type Login = { user: string; password: string; applicationName: string; options: string };

/** How long a client waits for a connection to a shard, as in PgDog's configuration for Parley. */
const CHECKOUT_TIMEOUT_MS = 5_000;

const LOST = "the connection to the shard was lost";

type ParameterStatus = { parameterName: string; parameterValue: string };

/** A connection to a shard. Runs one request at a time. */
export class ServerConnection {
  readonly pool: ServerPool;
  readonly cancelKey: CancelKey;
  /** The server's settings that it reports at the login, such as server_version. */
  readonly parameters: ReadonlyMap<string, string>;
  readonly #login: Login;
  readonly #socket: Socket;
  /** The names on the server of the statements that it has prepared, by text and parameter types. */
  readonly #prepared = new Map<string, string>();
  /** One entry for each Parse sent: the statement if the router sent it for itself, or undefined if the client waits for its response. */
  readonly #parses: (string | undefined)[] = [];
  #request:
    | {
        onMessage: (message: Message) => void;
        resolve: (status: TransactionStatus) => void;
        reject: (error: Error) => void;
      }
    | undefined;

  /** node-postgres logs in. Afterwards, this class reads and writes the socket itself. */
  static async connect(pool: ServerPool, login: Login): Promise<ServerConnection> {
    const client = new Client({
      host: pool.url.hostname,
      port: Number(pool.url.port),
      database: pool.database,
      user: login.user,
      password: login.password,
      application_name: login.applicationName,
      options: login.options,
      connectionTimeoutMillis: CHECKOUT_TIMEOUT_MS,
    });
    // A lost connection rejects the request that runs on it.
    client.on("error", () => undefined);
    const parameters = new Map<string, string>();
    client.connection.on("parameterStatus", ({ parameterName, parameterValue }: ParameterStatus) =>
      parameters.set(parameterName, parameterValue),
    );
    await client.connect();
    return new ServerConnection(client, parameters, { pool, login });
  }

  private constructor(
    client: Client,
    parameters: ReadonlyMap<string, string>,
    { pool, login }: { pool: ServerPool; login: Login },
  ) {
    this.pool = pool;
    this.#login = login;
    const { processID, secretKey } = client as Client & { processID: number; secretKey: number };
    this.cancelKey = { processId: processID, secret: secretKey };
    this.parameters = parameters;
    this.#socket = client.connection.stream as Socket;
    const reader = new MessageReader();
    this.#socket.removeAllListeners("data").on("data", (chunk: Buffer) => {
      reader.push(chunk);
      for (const message of reader.messages()) this.#receive(message);
    });
    this.#socket.once("close", () => this.#request?.reject(new Error(LOST)));
  }

  get isClosed(): boolean {
    return this.#socket.destroyed;
  }

  /** Lets another client use the connection. */
  release(): void {
    this.pool.release(this.#login, this);
  }

  /** Returns the name of a prepared statement on this server. If it is not prepared yet, also returns the Parse to send first. */
  prepare({ text, types }: Parse): { name: string; parse: Buffer | undefined } {
    const key = `${types.toString("hex")} ${text}`;
    const known = this.#prepared.get(key);
    if (known !== undefined) return { name: known, parse: undefined };
    const name = `parley_${this.#prepared.size + 1}`;
    this.#prepared.set(key, name);
    this.#parses.push(key);
    return { name, parse: encodeParse({ name, text, types }) };
  }

  /** Notes that the next Parse sent is the client's. */
  expectParse(): void {
    this.#parses.push(undefined);
  }

  /** Sends a request, which ends with Query or Sync. Calls `onMessage` with each response except ReadyForQuery, whose status it returns. */
  run(request: Buffer, onMessage: (message: Message) => void): Promise<TransactionStatus> {
    if (this.isClosed) return Promise.reject(new Error(LOST));
    return new Promise((resolve, reject) => {
      this.#request = { onMessage, resolve, reject };
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(message: Message): void {
    if (message.type === "1" && this.#parses.shift() !== undefined) return;
    if (message.type === "Z") {
      // After an error, the server skips the rest of the request.
      for (const key of this.#parses.splice(0)) if (key !== undefined) this.#prepared.delete(key);
      const request = this.#request;
      this.#request = undefined;
      request?.resolve(message.body.toString() as TransactionStatus);
      return;
    }
    this.#request?.onMessage(message);
  }
}

/** The connections to one shard, a limited number for each login. */
export class ServerPool {
  readonly url: URL;
  /** The name of the shard's database. */
  readonly database: string;
  readonly #size: number;
  #isClosed: boolean = false;
  readonly #logins = new Map<string, { count: number; idle: ServerConnection[]; waiting: Set<() => void> }>();

  constructor(url: URL, size: number) {
    this.url = url;
    this.database = decodeURIComponent(url.pathname.slice(1));
    this.#size = size;
  }

  /** Rejects if no connection becomes free in time, or if the server refuses the login. */
  async acquire(login: Login): Promise<ServerConnection> {
    const deadline = performance.now() + CHECKOUT_TIMEOUT_MS;
    const pool = this.#poolOf(login);
    for (;;) {
      const idle = pool.idle.pop();
      if (idle !== undefined && !idle.isClosed) return idle;
      if (idle !== undefined) pool.count--;
      else if (pool.count < this.#size) break;
      else await waitForWake(pool.waiting, deadline);
    }
    pool.count++;
    try {
      return await ServerConnection.connect(this, login);
    } catch (error) {
      pool.count--;
      wakeFirst(pool.waiting);
      throw error;
    }
  }

  release(login: Login, connection: ServerConnection): void {
    if (this.#isClosed) connection.close();
    const pool = this.#poolOf(login);
    pool.idle.push(connection);
    wakeFirst(pool.waiting);
  }

  /** Closes the idle connections now, and the others when they are released. */
  close(): void {
    this.#isClosed = true;
    for (const { idle } of this.#logins.values()) for (const connection of idle) connection.close();
  }

  #poolOf(login: Login) {
    const key = JSON.stringify(login);
    const pool = this.#logins.get(key) ?? { count: 0, idle: [], waiting: new Set() };
    this.#logins.set(key, pool);
    return pool;
  }
}

function wakeFirst(waiting: Set<() => void>): void {
  const [wake] = waiting;
  wake?.();
}

function waitForWake(waiting: Set<() => void>, deadline: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const wake = () => {
      clearTimeout(timer);
      waiting.delete(wake);
      resolve();
    };
    const timer = setTimeout(() => {
      waiting.delete(wake);
      reject(new Error("checkout timeout"));
    }, deadline - performance.now());
    waiting.add(wake);
  });
}
