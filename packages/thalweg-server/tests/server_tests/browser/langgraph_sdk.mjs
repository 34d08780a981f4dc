// node langgraph_sdk.mjs URL: LangGraph's JavaScript client against a gateway, as front ends call it.
import assert from "node:assert/strict";
import { Client } from "@langchain/langgraph-sdk";

const client = new Client({ apiUrl: process.argv[2], apiKey: process.argv[3] });
const say = (content) => ({ messages: [{ type: "human", content }] });
const slow = { configurable: { model: "slow" } };
const modes = ["values", "messages-tuple"];
const texts = (state) => state.values.messages.map((one) => String(one.content));

const { thread_id: thread } = await client.threads.create({ metadata: { user: "js" } });
const parts = [];
for await (const part of client.runs.stream(thread, "agent", { input: say("hi"), streamMode: modes })) parts.push(part);
assert(parts.some((one) => one.event === "messages"), "pieces of the answer");
assert.equal(parts.findLast((one) => one.event === "values").data.messages.length, 2);

// A reload: the run goes on, and another connection joins it.
const run = await client.runs.create(thread, "agent", { input: say("slowly"), config: slow, streamMode: modes, streamResumable: true });
for await (const part of client.runs.joinStream(thread, run.run_id, { streamMode: modes })) {
  if (part.event === "messages") break;
}
await client.runs.cancel(thread, run.run_id, true);
const stopped = texts(await client.threads.getState(thread));
assert.equal(stopped.length, 4);
assert(stopped[3].endsWith("[The answer was cut off here: the run was cancelled.]"), stopped[3]);

// Regenerate: from the checkpoint before the message that was answered.
const history = await client.threads.getHistory(thread, { limit: 100 });
const before = history.find((one) => one.values.messages?.length === 2);
await client.runs.wait(thread, "agent", { input: say("instead"), checkpoint: before.checkpoint });
const forked = texts(await client.threads.getState(thread));
assert.deepEqual([forked.length, forked[2]], [4, "instead"]);

// A question, answered after a reload.
const { thread_id: asked } = await client.threads.create();
const waits = await client.runs.wait(asked, "asking", { input: { count: 1 } });
assert.deepEqual(waits.__interrupt__[0].value, { ask: 1 });
assert.equal((await client.threads.get(asked)).status, "interrupted");
const answered = await client.runs.wait(asked, "asking", { command: { resume: 41 } });
assert.equal(answered.count, 42);

assert((await client.threads.search({ metadata: { user: "js" } })).some((one) => one.thread_id === thread));
await client.threads.delete(thread);
await assert.rejects(client.threads.get(thread));
console.log("ok");
