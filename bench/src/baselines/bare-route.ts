// The baseline for the config endpoint: a route that returns the same JSON without any checks.
import fastify from "fastify";

const body = JSON.parse(process.env.BODY ?? "{}") as object;
const app = fastify();
app.get("/config", () => body);

await app.listen({ host: "127.0.0.1", port: Number(process.env.PORT) });
console.log("listening");
