// node thread_protocol.mjs URL KEY: the thread protocol by LangGraph's JavaScript client, and by the controller of its hooks.
import assert from "node:assert/strict";
import { Client } from "@langchain/langgraph-sdk";
import { StreamController } from "@langchain/langgraph-sdk/stream";

const client = new Client({ apiUrl: process.argv[2], apiKey: process.argv[3] });
const chatInput = (content) => ({ messages: [{ type: "human", content }] });
async function until(check, what) {
  for (let n = 0; n < 600; n += 1) {
    if (check()) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`no ${what}`);
}

// A run with a tool: its messages, the tool's answer among them.
const { thread_id: first } = await client.threads.create();
const thread = client.threads.stream(first, { assistantId: "scripted" });
const texts = [];
const read = (async () => {
  for await (const message of thread.messages) texts.push(await message.text);
})();
await thread.run.start({ input: chatInput("call lookup") });
await read;
assert.deepEqual(texts, ["Calling.", "saw x", "One, two."]);
await thread.close();

// A question, answered after a reload; then a subagent.
const { thread_id: second } = await client.threads.create();
async function opened() {
  const controller = new StreamController({ client, assistantId: "scripted", threadId: second });
  await controller.hydrate(second);
  return [controller, () => controller.rootStore.getSnapshot()];
}
const [before, was] = await opened();
await before.submit(chatInput("call risky"));
await until(() => was().interrupts.length, "question");
assert.equal(was().interrupts[0].value.actionRequests[0].name, "risky");
const [after, is] = await opened();
await until(() => is().interrupts.length, "question after a reload");
await after.respond({ decisions: [{ type: "approve" }] }, { interruptId: is().interrupts[0].id });
await until(() => !is().isLoading && is().messages.length === 4, "answer");
assert.equal(is().messages[2].content, "did x");
await after.submit(chatInput("call delegate"));
await until(() => !is().isLoading && is().messages.length === 8, "second turn");
assert(is().toolCalls.some((one) => one.name === "delegate" && one.status === "finished"), "tool call");
assert.equal(is().error, undefined);
console.log("ok");
process.exit(0);
