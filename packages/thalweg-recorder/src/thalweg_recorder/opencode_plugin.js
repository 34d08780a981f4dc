// Written by `thalweg record on`, removed by `thalweg record off`. Runs thalweg_recorder/hook.py at the
// events of opencode: it enqueues a session, and returns a summary that is due after a compaction.
import { spawnSync } from "node:child_process"
import { homedir } from "node:os"
import { join, resolve } from "node:path"

const [program, ...options] = COMMAND
const data = process.env.XDG_DATA_HOME || join(homedir(), ".local", "share")
const database = resolve(data, "opencode", process.env.OPENCODE_DB || "opencode.db")

function run(name, session, cwd) {
  const event = {
    cwd,
    hook_event_name: name,
    session_id: session,
    transcript_path: `${database}#${session}`,
  }
  try {
    const done = spawnSync(program, options, {
      input: JSON.stringify(event),
      encoding: "utf-8",
      timeout: 5_000,
    })
    return done.stdout ? JSON.parse(done.stdout).hookSpecificOutput.additionalContext : ""
  } catch {
    return "" // A plugin never fails its agent.
  }
}

export const Thalweg = async ({ directory }) => ({
  event: async ({ event }) => {
    if (event.type === "session.idle") run("Stop", event.properties.sessionID, directory)
    if (event.type === "session.compacted") run("PostCompact", event.properties.sessionID, directory)
  },
  "experimental.session.compacting": async ({ sessionID }) => {
    run("PreCompact", sessionID, directory)
  },
  "chat.message": async ({ sessionID }, { message, parts }) => {
    const text = run("UserPromptSubmit", sessionID, directory)
    const last = parts.at(-1)
    if (!text || !last) return
    // Parts are ordered by id: this one follows the last.
    const id = `${last.id}z`
    parts.push({ id, sessionID, messageID: message.id, type: "text", text, synthetic: true })
  },
})
