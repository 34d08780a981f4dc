// node openai_sdk.mjs URL KEY: OpenAI's JavaScript client against a gateway.
import assert from "node:assert/strict";
import OpenAI from "openai";

const client = new OpenAI({ baseURL: `${process.argv[2]}/v1`, apiKey: process.argv[3], maxRetries: 0 });
const messages = [{ role: "user", content: "hi" }];

const names = [];
for await (const model of client.models.list()) names.push(model.id);
assert(names.includes("agent") && names.includes("ticking"), names.join());

const whole = await client.chat.completions.create({ model: "agent", messages });
const text = whole.choices[0].message.content;
assert(text && whole.choices[0].finish_reason === "stop" && whole.usage.total_tokens > 0);

const stream = await client.chat.completions.create({ model: "ticking", messages, stream: true, stream_options: { include_usage: true } });
let said = "", usage = null;
for await (const chunk of stream) {
  said += chunk.choices[0]?.delta.content ?? "";
  usage = chunk.usage ?? usage;
}
assert(said && usage.total_tokens > 0);

// A thread has the earlier turns.
const threaded = { model: "agent", metadata: { thread_id: "js-1" } };
await client.chat.completions.create({ ...threaded, messages });
await client.chat.completions.create({ ...threaded, messages: [{ role: "user", content: "again" }] });
const headers = { "X-Api-Key": process.argv[3] };
const state = await (await fetch(`${process.argv[2]}/threads/js-1/state`, { headers })).json();
assert.equal(state.values.messages.length, 4);

const tools = [{ type: "function", function: { name: "f", parameters: {} } }];
await assert.rejects(client.chat.completions.create({ model: "agent", messages, tools }), /tools/);
await assert.rejects(client.chat.completions.create({ model: "missing", messages }), (error) => error.status === 404);
console.log("ok");
