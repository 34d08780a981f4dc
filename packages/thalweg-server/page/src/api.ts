// Generated from the OpenAPI document by `python -m scripts.page`.

export interface AdditionView {
  part: string;
  tokens: number;
  about: string;
  position: number | null;
}

export interface Artifacts {
  files: FileStat[];
  truncated: boolean;
}

export interface Body_upload_file {
  files: string[];
}

export interface Branch {
  id: string | null;
  turn: number | null;
  title: string;
}

export interface Call {
  turn: number;
  at: string | null;
  model: string;
  tokens: number;
  sections: Record<string, number>;
  limit: number;
  window: number;
  input_tokens: number | null;
  cached_tokens: number | null;
  written_tokens: number | null;
  output_tokens: number | null;
  is_output_counted: boolean;
  cost: number | null;
  saved: number | null;
  position: number | null;
  is_current: boolean;
}

export interface Change {
  turn: number;
  kind: string;
  at: string | null;
  reason: string;
  edits: Edit[];
  tokens_before: number;
  tokens_after: number;
  summary: string;
  price: number | null;
  reread: number | null;
  predicted: number | null;
  predicted_calls: number;
  realised: number | null;
  calls: number;
  last: number | null;
  can_undo: boolean;
  is_current: boolean;
  note: string;
}

export interface Check {
  name: string;
  status: "ok" | "failed";
  detail: string;
}

export interface Commit {
  operation: number;
  at: string;
  actor: string;
  kind: string;
  summary: string;
}

export interface Commits {
  items: Commit[];
}

export interface Context {
  turn: number | null;
  at: string;
  model: string;
  system: string;
  messages: Message[];
  tools: Record<string, unknown>[];
  sections: Record<string, number>;
  additions: AdditionView[];
  tokens: number;
  limit: number;
  window: number;
}

export interface ContextChanged {
  type: "context.changed";
  turn: number;
  tokens_before: number;
  tokens_after: number;
  limit: number;
  reasons: string[];
  detail: Record<string, unknown>;
}

export interface DeletedOwner {
  owner: string;
  left: string[];
}

export interface DeletedThread {
  thread: string;
  forgotten: boolean;
  left: string[];
}

export interface Done {
  about: number;
  tokens: number;
  limit: number;
  changed: boolean;
}

export interface Edit {
  kind: "evict" | "elide" | "supersede" | "strip" | "fold" | "pin" | "unpin";
  reason: string;
  tokens_before: number;
  tokens_after: number;
  position: number;
  detail: Record<string, JsonValue>;
}

export type Event = RunStarted | RunResumed | MessageStarted | MessageDelta | ThinkingDelta | MessageCompleted | MessageWithdrawn | ToolStarted | ToolCompleted | SubagentEvent | ContextChanged | Notice | GraphStreamed | UsageReported | RunInterrupted | RunCompleted | RunFailed | RunCancelled;

export interface FactChange {
  content: string | null;
  category: "preference" | "knowledge" | "context" | "behavior" | "goal" | null;
  confidence: number | null;
}

export interface FactView {
  id: string;
  content: string;
  category: string;
  confidence: number;
  createdAt: string;
  source: string;
  status: string;
}

export interface Facts {
  items: FactView[];
}

export interface Fault {
  where: string;
  problem: string;
}

export interface FileStat {
  path: string;
  name: string;
  size: number;
  media_type: string;
  modified: string;
  etag: string;
}

export interface Forget {
  facts: string[];
  words: string;
  threads: string[];
  everything: boolean;
}

export interface Forgotten {
  facts: number;
  turns: number;
  detail: Record<string, unknown>;
}

export interface Found {
  kind: "fact" | "turn";
  id: string;
  content: string;
  score: number;
  is_told: boolean;
  why: string;
  detail: Record<string, JsonValue>;
}

export interface GraphStreamed {
  type: "graph";
  mode: string;
  namespace: string[];
  text: string;
  data: unknown;
}

export interface Health {
  status: "ok" | "failed";
  version: string;
  checks: Check[];
}

export interface History {
  items: HistoryItem[];
  before: number | null;
}

export interface HistoryItem {
  position: number;
  message: Message;
  is_abandoned: boolean;
}

export interface Input {
  role: "user";
  content: string | Record<string, JsonValue>[];
}

export type JsonValue = unknown;

export interface LostRequest {
  position: number;
  text: string;
  turn: number;
  at: string | null;
}

export interface MemoryDocument {
  version: string;
  lastUpdated: string;
  userContext: Record<string, unknown>;
  history: Record<string, unknown>;
  facts: Record<string, unknown>[];
}

export interface MemoryMode {
  mode: "on" | "read_only" | "incognito" | "off";
}

export interface Message {
  id: string;
  role: "system" | "user" | "assistant" | "tool";
  text: string;
  thinking: string;
  tool_calls: ToolCall[];
  answers: string;
  name: string;
  is_error: boolean;
  media: number;
}

export interface MessageCompleted {
  type: "message.completed";
  message: string;
  text: string;
  tool_calls: ToolCall[];
  caller: string;
  usage: Usage | null;
}

export interface MessageDelta {
  type: "message.delta";
  message: string;
  text: string;
}

export interface MessageMedia {
  mime: string;
  index: number | null;
}

export interface MessageStarted {
  type: "message.started";
  message: string;
  caller: string;
}

export interface MessageWithdrawn {
  type: "message.withdrawn";
  message: string;
}

export interface Model {
  name: string;
  display_name: string;
  description: string;
  provider: string;
  model: string;
  window: number | null;
  max_output: number | null;
  supports_thinking: boolean;
  supports_vision: boolean;
  is_default: boolean;
}

export interface Models {
  items: Model[];
}

export interface NewFact {
  content: string;
  category: "preference" | "knowledge" | "context" | "behavior" | "goal" | null;
  confidence: number;
}

export interface NewRun {
  id: string | null;
  message: string | null;
  messages: Input[];
  resume: JsonValue | null;
  retry: boolean;
  unanswered: "keep" | "drop";
  model: string | null;
  memory: "on" | "read_only" | "incognito" | "off";
  agent: string | null;
  place: string | null;
  if_busy: "enqueue" | "reject" | "cancel";
  priority: number;
}

export interface NewThread {
  id: string | null;
  title: string;
}

export interface Notice {
  type: "notice";
  kind: string;
  detail: Record<string, unknown>;
}

export interface Overview {
  thread: ThreadRow;
  calls: Call[];
  changes: Change[];
  lost: LostRequest[];
  requests: number;
  placements: Placement[];
  saved: number | null;
  is_whole: boolean;
}

export interface OwnerRow {
  owner: string;
  runs: number;
  today: Usage;
  limits: Record<string, number | null>;
}

export interface OwnerRows {
  items: OwnerRow[];
}

export interface OwnerUsage {
  total: Usage;
  threads: Record<string, Usage>;
  models: Record<string, Usage>;
}

export interface Pinned {
  position: number;
  quote: string;
}

export interface Placement {
  first: number;
  last: number;
  form: "whole" | "shortened" | "summarized";
}

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  code: string;
  faults: Fault[];
  arguments: JsonValue[];
}

export interface Question {
  id: string;
  value: JsonValue;
}

export interface Recall {
  query: string;
  text: string;
  tokens: number;
  items: Found[];
}

export interface Removed {
  first: number;
  last: number;
}

export interface RequestMessage {
  index: number;
  position: number | null;
  role: "system" | "user" | "assistant" | "tool";
  form: "whole" | "shortened" | "summary" | "added";
  section: string;
  tokens: number;
  original_tokens: number;
  text: string;
  more: number;
  thinking: string;
  tool_calls: ToolCall[];
  name: string;
  is_error: boolean;
  media: MessageMedia[];
  is_new: boolean;
}

export interface Review {
  accept: boolean;
}

export interface Rewind {
  turn: number;
}

export interface Run {
  id: string;
  thread: string;
  status: "queued" | "running" | "interrupted" | "completed" | "failed" | "cancelled";
  created: string;
  started: string | null;
  ended: string | null;
  attempts: number;
  last_event: number;
  problem: Problem | null;
}

export interface RunCancelled {
  type: "run.cancelled";
}

export interface RunCompleted {
  type: "run.completed";
  text: string;
  usage: Usage;
}

export interface RunFailed {
  type: "run.failed";
  problem: Problem;
}

export interface RunInterrupted {
  type: "run.interrupted";
  questions: Question[];
}

export interface RunResumed {
  type: "run.resumed";
  attempt: number;
}

export interface RunStarted {
  type: "run.started";
  run: string;
  thread: string;
  model: string;
  trace: string;
}

export interface Runs {
  items: Run[];
  before: string | null;
}

export interface SentRequest {
  turn: number;
  system: string;
  tools: Tool[];
  messages: RequestMessage[];
  same: number;
  removed: Removed[];
  thinking_lost: number;
}

export interface Skill {
  name: string;
  description: string;
  path: string;
  license: string;
  text: string | null;
}

export interface Skills {
  items: Skill[];
}

export interface State {
  thread: Thread;
  todos: Todo[];
  files: string[];
  questions: Question[];
  next: string[];
}

export interface SubagentEvent {
  type: "subagent";
  kind: string;
  task: string;
  subagent: string;
  detail: Record<string, JsonValue>;
}

export interface ThinkingDelta {
  type: "thinking.delta";
  message: string;
  text: string;
}

export interface Thread {
  id: string;
  title: string;
  created: string;
  updated: string;
  messages: number;
  model_calls: number;
  run: string | null;
  recorded_by: string;
}

export interface ThreadChange {
  title: string;
}

export interface ThreadRow {
  id: string;
  title: string;
  created: string;
  updated: string;
  agent: string;
  project: string;
  model: string;
  messages: number;
  calls: number;
  cost: number | null;
  currency: string;
  tokens: number;
  window: number;
  changes: number;
  compactions: number;
  lost: number;
  run: string | null;
  passage: string;
  position: number | null;
}

export interface ThreadRows {
  items: ThreadRow[];
  before: string | null;
  agents: string[];
  projects: string[];
}

export interface ThreadUsage {
  thread: string;
  total: Usage;
  callers: Record<string, Usage>;
  sections: Record<string, number>;
  window: number;
  limit: number;
  saved: number | null;
}

export interface Threads {
  items: Thread[];
  before: string | null;
}

export interface Todo {
  content: string;
  status: "pending" | "in_progress" | "completed";
}

export interface Tool {
  name: string;
  description: string;
}

export interface ToolCall {
  id: string;
  name: string;
  arguments: string;
}

export interface ToolCompleted {
  type: "tool.completed";
  call: string;
  name: string;
  text: string;
  is_error: boolean;
  caller: string;
}

export interface ToolStarted {
  type: "tool.started";
  call: string;
  name: string;
  arguments: string;
  caller: string;
}

export interface Turn {
  turn: number | null;
  at: string;
  kind: string;
  model: string;
  edits: Edit[];
  tokens: number;
  limit: number;
  sections: Record<string, number>;
  input_tokens: number | null;
  cached_tokens: number | null;
  output_tokens: number | null;
  is_current: boolean;
  note: string;
}

export interface Turns {
  items: Turn[];
}

export interface Upload {
  name: string;
  path: string;
  size: number;
  media_type: string;
  sha256: string;
  text_path: string | null;
  created: string;
  note: string;
}

export interface Uploads {
  items: Upload[];
}

export interface Usage {
  calls: number;
  input_tokens: number;
  cached_tokens: number;
  written_tokens: number;
  output_tokens: number;
  cost: number | null;
  currency: string;
}

export interface UsageReported {
  type: "usage";
  total: Usage;
  tokens: number;
  limit: number;
}
