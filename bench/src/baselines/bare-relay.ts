// A minimal service that a developer could write instead of Parley. It has no authentication, quota, limits or storage.
import fastify from "fastify";
import OpenAI from "openai";

const openai = new OpenAI({ baseURL: process.env.OPENAI_BASE_URL, apiKey: "unused" });
const app = fastify();

app.post<{ Body: { message: string; model: string } }>("/chat", async (request, reply) => {
  const { message, model } = request.body;
  const stream = await openai.chat.completions.create({
    model,
    messages: [{ role: "user", content: message }],
    stream: true,
    stream_options: { include_usage: true },
  });
  reply.hijack();
  reply.raw.writeHead(200, { "content-type": "text/event-stream" });
  for await (const chunk of stream) {
    const text = chunk.choices[0]?.delta.content;
    if (text) reply.raw.write(`event: token\ndata: ${JSON.stringify({ text })}\n\n`);
  }
  reply.raw.end("event: done\ndata: {}\n\n");
});

await app.listen({ host: "127.0.0.1", port: Number(process.env.PORT) });
console.log("listening");
