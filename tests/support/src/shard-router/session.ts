import type { Socket } from "node:net";
import type { Verdict } from "./classify.ts";
import { shardOf } from "./hash.ts";
import {
  decodeBind,
  decodeParse,
  decodeTarget,
  type ErrorFields,
  encode,
  encodeBind,
  encodeError,
  encodeReady,
  type Message,
  type Parse,
  readText,
  type TransactionStatus,
} from "./messages.ts";
import type { Login, ServerConnection, ServerPool } from "./server-pool.ts";

export type SessionOptions = {
  login: Login;
  shards: readonly ServerPool[];
  classify: (sql: string) => Verdict;
  /** Whether a statement without a key is refused. Otherwise the first shard runs it. */
  isStrict: boolean;
  /** Called with each statement that lacks a key. */
  onRefusal: (refusal: Refusal) => void;
};

export type Refusal = { statement: string; reason: string };

type Transaction = {
  /** The client's BEGIN, which is sent to the shard of the first statement. */
  begin: string;
  /** The connection to that shard. */
  pinned?: { shard: number; server: ServerConnection };
  /** Whether the router refused a statement. The client must end the transaction then. */
  hasFailed: boolean;
};

/** SQLSTATE system_error, which PgDog uses for its own errors. */
const ROUTER_ERROR = "58000";

const COMMAND_TAGS = { begin: "BEGIN", commit: "COMMIT", rollback: "ROLLBACK" };

/** A client of the sharded database after its login. */
export class Session {
  readonly #client: Socket;
  readonly #options: SessionOptions;
  /** The client's prepared statements. The unnamed statement has the name "". */
  readonly #statements = new Map<string, Parse>();
  #transaction: Transaction | undefined;
  #requests: Promise<void> = Promise.resolve();
  #unfinished: Message[] = [];
  /** The connection that runs a request of this client now. */
  #busy: ServerConnection | undefined;

  constructor(client: Socket, options: SessionOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** The connection on which a cancel request has to act. */
  get busyServer(): ServerConnection | undefined {
    return this.#busy;
  }

  /** Collects messages until a request is complete, and runs the requests one after the other. */
  receive(message: Message): void {
    if (message.type === "X") {
      this.#client.end();
      return;
    }
    this.#unfinished.push(message);
    if (message.type !== "Q" && message.type !== "S") return;
    const request = this.#unfinished;
    this.#unfinished = [];
    this.#requests = this.#requests.then(() => this.#run(request)).catch((error: unknown) => this.#fail(error));
  }

  /** Ends an open transaction after the client has gone. */
  close(): void {
    this.#transaction?.pinned?.server.close();
    // A request that still runs fails now, and then #fail ends the transaction.
    if (this.#busy === undefined) this.#endTransaction();
  }

  async #run(request: readonly Message[]): Promise<void> {
    const statement = this.#readStatement(request);
    if (typeof statement === "string") return this.#refuse({ code: "26000", message: statement });
    let verdict: Verdict;
    try {
      verdict = this.#options.classify(statement.text);
    } catch (error) {
      return this.#refuse({ code: "42601", message: error instanceof Error ? error.message : String(error) });
    }
    if (verdict.route === "transaction") return this.#control(request, verdict.command, statement.text);
    if (this.#transaction?.hasFailed)
      return this.#refuse({
        code: "25P02",
        message: "current transaction is aborted, commands ignored until end of transaction block",
      });

    const pinned = this.#transaction?.pinned;
    const shard = this.#chooseShard(verdict, statement);
    if (typeof shard === "string") {
      this.#options.onRefusal({ statement: statement.text, reason: shard });
      const detail = `${shard}: ${statement.text}`;
      return this.#refuse({ code: ROUTER_ERROR, message: "cross-shard queries are disabled", detail });
    }
    if (pinned !== undefined && pinned.shard !== shard)
      return this.#refuse({ code: ROUTER_ERROR, message: "cannot switch shards in a direct-to-shard transaction" });
    const server = pinned?.server ?? (await this.#acquire(shard));
    if (server === undefined) return;
    await this.#forward(request, server);
  }

  /** Returns the shard of a statement, or why the statement has none. */
  #chooseShard(verdict: Verdict, { values }: { values: readonly (string | null)[] }): number | string {
    const { shards, isStrict } = this.#options;
    if (verdict.route === "shard") return verdict.shard;
    if (!isStrict && verdict.route !== "keys") return this.#transaction?.pinned?.shard ?? 0;
    if (verdict.route === "refused") return verdict.reason;
    if (verdict.route !== "keys")
      return this.#transaction?.pinned?.shard ?? "the statement has no key, so any shard could run it";
    const found = verdict.keys.map((key) => ("literal" in key ? key.literal : values[key.parameter - 1]));
    const distinct = new Set(found.map((value) => (value == null ? undefined : shardOf(value, shards.length))));
    const [shard] = distinct;
    if (shard === undefined) return "the key is null";
    return distinct.size === 1 ? shard : "the keys concern several shards";
  }

  /** Returns a connection to the shard, in a transaction if the client began one. Sends the client an error if there is none. */
  async #acquire(shard: number): Promise<ServerConnection | undefined> {
    const { shards, login } = this.#options;
    try {
      const pool = shards[shard];
      if (pool === undefined) throw new Error(`there is no shard ${shard}`);
      const server = await pool.acquire(login);
      const transaction = this.#transaction;
      if (transaction === undefined) return server;
      // If BEGIN fails, the connection was lost, and the client's statement reports it.
      transaction.pinned = { shard, server };
      await this.#send(server, encode("Q", `${transaction.begin}\0`)).catch(() => undefined);
      return server;
    } catch (error) {
      const message = `shard ${shard} is down: ${error instanceof Error ? error.message : String(error)}`;
      this.#refuse({ code: ROUTER_ERROR, message });
      return undefined;
    }
  }

  /** Runs BEGIN, COMMIT and ROLLBACK. */
  async #control(request: readonly Message[], command: "begin" | "commit" | "rollback", text: string): Promise<void> {
    const transaction = this.#transaction;
    if (command === "begin") {
      this.#transaction ??= { begin: text, hasFailed: false };
      return this.#confirm(request, command, "T");
    }
    const server = transaction?.pinned?.server;
    const mustRollBack = command === "commit" && transaction?.hasFailed === true;
    if (server !== undefined && !mustRollBack) return this.#forward(request, server);
    if (server !== undefined) await this.#send(server, encode("Q", "ROLLBACK\0"));
    this.#endTransaction();
    this.#confirm(request, mustRollBack ? "rollback" : command, "I");
  }

  /** Answers a request that no server receives. */
  #confirm(request: readonly Message[], command: keyof typeof COMMAND_TAGS, status: TransactionStatus): void {
    const complete = encode("C", `${COMMAND_TAGS[command]}\0`);
    const responses: Record<string, Buffer> = {
      P: encode("1"),
      B: encode("2"),
      C: encode("3"),
      D: encode("n"),
      E: complete,
      Q: complete,
    };
    for (const { type } of request) this.#client.write(responses[type] ?? "");
    this.#client.write(encodeReady(status));
  }

  /**
   * Sends a request to a shard, and the responses to the client. The server's prepared statements have names of its own, because the
   * server connection serves other clients too. So the client's Parse is answered here, and the server receives it if it needs it.
   */
  async #forward(request: readonly Message[], server: ServerConnection): Promise<void> {
    const output: Buffer[] = [];
    const prepare = (name: string): string => {
      const statement = this.#statements.get(name);
      if (name === "" || statement === undefined) return name;
      const prepared = server.prepare(statement);
      if (prepared.parse !== undefined) output.push(prepared.parse);
      return prepared.name;
    };
    for (const { type, body } of request) {
      const target = type === "D" || type === "C" ? decodeTarget(body) : undefined;
      if (type === "P" && readText(body) !== "") this.#client.write(encode("1"));
      else if (type === "B") {
        const bind = decodeBind(body);
        const statement = prepare(bind.statement);
        output.push(encodeBind({ ...bind, statement }));
      } else if (target?.isStatement && target.name !== "") {
        if (type === "D") output.push(encode("D", `S${prepare(target.name)}\0`));
        else if (this.#statements.delete(target.name)) this.#client.write(encode("3"));
      } else {
        if (type === "P") server.expectParse();
        output.push(encode(type, body));
      }
    }
    const toClient = ({ type, body }: Message) => this.#client.write(encode(type, body));
    const status = await this.#send(server, Buffer.concat(output), toClient);
    if (this.#transaction === undefined) server.release();
    else if (status === "I") this.#endTransaction();
    this.#client.write(encodeReady(status));
    if (this.#client.destroyed) this.close();
  }

  async #send(
    server: ServerConnection,
    request: Buffer,
    onMessage: (message: Message) => void = () => undefined,
  ): Promise<TransactionStatus> {
    this.#busy = server;
    const status = await server.run(request, onMessage);
    this.#busy = undefined;
    return status;
  }

  /** Returns the statement of a request and its values, or the message of an error. */
  #readStatement(request: readonly Message[]): { text: string; values: readonly (string | null)[] } | string {
    let name = "";
    let values: readonly (string | null)[] = [];
    for (const { type, body } of request) {
      if (type === "Q") return { text: readText(body), values };
      if (type === "P") {
        const parse = decodeParse(body);
        name = parse.name;
        this.#statements.set(name, parse);
      } else if (type === "B") {
        const bind = decodeBind(body);
        name = bind.statement;
        values = bind.values;
      }
    }
    const statement = this.#statements.get(name);
    return statement === undefined ? `prepared statement "${name}" does not exist` : { text: statement.text, values };
  }

  /** Reports an error of the router. In a transaction, the client must then roll back. */
  #refuse(error: ErrorFields): void {
    if (this.#transaction) this.#transaction.hasFailed = true;
    this.#client.write(encodeError(error));
    this.#client.write(encodeReady(this.#transaction ? "E" : "I"));
  }

  #endTransaction(): void {
    const server = this.#transaction?.pinned?.server;
    this.#transaction = undefined;
    server?.release();
  }

  /** Ends the session after a shard closed its connection. */
  #fail(error: unknown): void {
    const server = this.#transaction?.pinned?.server ?? this.#busy;
    this.#transaction = undefined;
    server?.close();
    server?.release();
    const message = error instanceof Error ? error.message : String(error);
    this.#client.end(encodeError({ severity: "FATAL", code: ROUTER_ERROR, message }));
  }
}
