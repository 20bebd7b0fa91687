import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";

// Runs in a process of its own, because PGlite would block the tests' event loop.
const database = await PGlite.create({ extensions: { vector } });
const server = new PGLiteSocketServer({ db: database, host: "127.0.0.1", port: 0, maxConnections: 50 });
await server.start();
console.log(JSON.stringify({ url: `postgres://postgres:postgres@${server.getServerConn()}/postgres` }));

for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => void server.stop().then(() => database.close()));
