import { randomInt } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { DatabaseError } from "pg";
import { freePort } from "../ports.ts";
import { loadClassifier } from "./classify.ts";
import { shardOf } from "./hash.ts";
import {
  type CancelKey,
  type ErrorFields,
  encode,
  encodeCancel,
  encodeError,
  encodeReady,
  encodeStartup,
  int32,
  type Message,
  MessageReader,
  readText,
} from "./messages.ts";
import type { ShardRouter, ShardRouterOptions } from "./options.ts";
import { readShardUrls, startPgdog } from "./pgdog.ts";
import { type Login, ServerPool } from "./server-pool.ts";
import { type Refusal, Session } from "./session.ts";

/** The name of the sharded database. The aliases add an underscore and the shard's number. */
const DATABASE = "parley";
const ADMIN_DATABASE = "admin";

/** Version 3.0. */
const PROTOCOL_VERSION = 196_608;
const AUTHENTICATION_OK = int32(0);
const CLEARTEXT_PASSWORD = int32(3);

type Context = {
  shards: ServerPool[];
  classify: Awaited<ReturnType<typeof loadClassifier>>;
  /** The password of each role that has logged in, and the settings that the server reported then. */
  logins: Map<string, { password: string; parameters: ReadonlyMap<string, string> }>;
  sessions: Map<number, { secret: number; session: Session }>;
  refusals: Refusal[];
  isStrict: boolean;
  /** Applies the new configuration; undefined if there is no admin database. */
  reload: (() => Promise<void>) | undefined;
};

/** Starts the PgDog whose program is PARLEY_TEST_PGDOG, and otherwise the stand-in. */
export function startShardRouter(options: ShardRouterOptions): Promise<ShardRouter> {
  const pgdog = process.env.PARLEY_TEST_PGDOG;
  return pgdog ? startPgdog(pgdog, options) : startStandIn(options);
}

/**
 * Starts a stand-in for PgDog on 127.0.0.1, for tests only. It serves the sharded database `parley` in strict mode, and an alias for each
 * shard. It refuses what PgDog refuses in strict mode, and also each statement that PgDog would run on an arbitrary shard. It holds a client's
 * BEGIN back until the key of the first statement determines the shard.
 *
 * Unlike PgDog, it accepts no COPY, cursor, savepoint, or query of several statements on the sharded database, and no TLS.
 */
async function startStandIn(options: ShardRouterOptions): Promise<ShardRouter> {
  const { shardUrls, port = await freePort(), poolSize = 20, isStrict = true, configFile } = options;
  const openPools = (urls: readonly string[]) => urls.map((url) => new ServerPool(new URL(url), poolSize));
  const context: Context = {
    shards: openPools(shardUrls),
    isStrict,
    reload:
      configFile === undefined
        ? undefined
        : async () => {
            const urls = openPools(await readShardUrls(configFile));
            for (const pool of context.shards.splice(0, context.shards.length, ...urls)) pool.close();
          },
    classify: await loadClassifier(),
    logins: new Map(),
    sessions: new Map(),
    refusals: [],
  };
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).once("close", () => sockets.delete(socket));
    accept(socket, context);
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    port,
    through: (url, shard) => {
      const pathname = shard === undefined ? `/${DATABASE}` : `/${DATABASE}_${shard}`;
      return Object.assign(new URL(url), { hostname: "127.0.0.1", port: String(port), pathname }).href;
    },
    shardOf: (workspaceId) => shardOf(workspaceId, shardUrls.length),
    refusals: context.refusals,
    async stop() {
      const closed = once(server.close(), "close");
      for (const socket of sockets) socket.destroy();
      for (const pool of context.shards) pool.close();
      await closed;
    },
  };
}

/** Reads a client's first packets. Then opens a session after the login, or connects the client to the shard of an alias. */
function accept(socket: Socket, context: Context): void {
  const reader = new MessageReader();
  let read = () => {
    for (let packet = reader.nextPacket(); packet; packet = reader.nextPacket()) {
      if (packet.kind === "encryption") socket.write("N");
      else if (packet.kind === "cancel") {
        cancel(packet, context);
        socket.end();
        return;
      } else {
        start(packet.parameters);
        return;
      }
    }
  };
  const start = (parameters: Record<string, string>) => {
    const { user = "", database = user, application_name: applicationName = "", options = "" } = parameters;
    const [, alias = "none"] = new RegExp(`^${DATABASE}_(\\d+)$`).exec(database) ?? [];
    const shard = context.shards[Number(alias)];
    if (shard !== undefined) return passThrough(socket, shard, parameters);
    if (database === ADMIN_DATABASE && context.reload !== undefined) {
      read = () => {
        for (const message of reader.messages()) administer(socket, message, context.reload);
      };
      socket.write(Buffer.concat([encode("R", AUTHENTICATION_OK), encodeReady("I")]));
      return;
    }
    if (database !== DATABASE) return refuse(socket, { code: "28000", message: `there is no database "${database}"` });
    let receive = ({ type, body }: Message) => {
      if (type !== "p") return;
      const login = { user, password: readText(body), applicationName, options };
      receive = () => undefined;
      logIn(login, context).then(
        (settings) => {
          const session = openSession(socket, context, { login, settings });
          receive = (message) => session.receive(message);
        },
        (error: unknown) => refuse(socket, toFields(error)),
      );
    };
    read = () => {
      for (const message of reader.messages()) receive(message);
    };
    socket.write(encode("R", CLEARTEXT_PASSWORD));
  };
  socket.on("data", (chunk) => {
    reader.push(chunk);
    read();
  });
}

/** Runs RELOAD, the only statement of the admin database. */
function administer(socket: Socket, { type, body }: Message, reload: Context["reload"]): void {
  if (type === "X") socket.end();
  if (type !== "Q") return;
  if (reload === undefined || readText(body) !== "RELOAD") {
    refuse(socket, { code: "58000", message: "unknown command" });
    return;
  }
  reload().then(
    () => socket.write(Buffer.concat([encode("C", "RELOAD\0"), encodeReady("I")])),
    (error: unknown) => refuse(socket, toFields(error)),
  );
}

/** Connects a client to a shard's database. The server then checks the password itself. */
function passThrough(client: Socket, shard: ServerPool, parameters: Record<string, string>): void {
  const server = connect({ host: shard.url.hostname, port: Number(shard.url.port), noDelay: true });
  client.removeAllListeners("data");
  server.on("error", () => undefined).once("close", () => client.destroy());
  client.once("close", () => server.destroy());
  server.write(encodeStartup(PROTOCOL_VERSION, { ...parameters, database: shard.database }));
  client.pipe(server).pipe(client);
}

/** Checks a password at the first shard that is up, unless the role has already logged in with it. Returns the server's settings. */
async function logIn(login: Login, { shards, logins }: Context): Promise<ReadonlyMap<string, string>> {
  const known = logins.get(login.user);
  if (known?.password === login.password) return known.parameters;
  let failure: unknown;
  for (const shard of shards) {
    try {
      const server = await shard.acquire(login);
      server.release();
      const { parameters } = server;
      logins.set(login.user, { password: login.password, parameters });
      return parameters;
    } catch (error) {
      failure = error;
      if (error instanceof DatabaseError) break;
    }
  }
  throw failure;
}

function openSession(
  socket: Socket,
  { shards, classify, sessions, refusals, isStrict }: Context,
  { login, settings }: { login: Login; settings: ReadonlyMap<string, string> },
): Session {
  const session = new Session(socket, {
    login,
    shards,
    classify,
    isStrict,
    onRefusal: (refusal) => refusals.push(refusal),
  });
  const secret = randomInt(2 ** 31);
  let processId = randomInt(2 ** 31);
  while (sessions.has(processId)) processId = randomInt(2 ** 31);
  sessions.set(processId, { secret, session });
  socket.once("close", () => {
    sessions.delete(processId);
    session.close();
  });
  socket.write(encode("R", AUTHENTICATION_OK));
  for (const [name, value] of settings) socket.write(encode("S", `${name}\0${value}\0`));
  socket.write(encode("K", int32(processId, secret)));
  socket.write(encodeReady("I"));
  return session;
}

/** Cancels the statement of a session. Other keys are those of the aliases' clients, which only the servers know. */
function cancel(key: CancelKey, { sessions, shards }: Context): void {
  const known = sessions.get(key.processId);
  if (known === undefined) {
    for (const { url } of shards) sendCancel(url, key);
    return;
  }
  const server = known.secret === key.secret ? known.session.busyServer : undefined;
  if (server !== undefined) sendCancel(server.pool.url, server.cancelKey);
}

function sendCancel(url: URL, key: CancelKey): void {
  const socket = connect({ host: url.hostname, port: Number(url.port) });
  socket.on("error", () => undefined).end(encodeCancel(key));
}

function refuse(socket: Socket, fields: ErrorFields): void {
  socket.end(encodeError({ ...fields, severity: "FATAL" }));
}

function toFields(error: unknown): ErrorFields {
  const message = error instanceof Error ? error.message : String(error);
  return { code: (error instanceof DatabaseError && error.code) || "58000", message };
}
