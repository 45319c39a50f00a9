/**
 * A plugin of its own, because OpenClaw gives the slot to any memory plugin that is enabled, asked for or not. Recall,
 * capture and tools are the main plugin's; this one keeps OpenClaw's file memory, its flushes and its tools out.
 */

const LINES = [
  "## Memory",
  "Long-term memory is kept by MetaClaw: what fits is recalled into the conversation by itself.",
  "To look for more use metaclaw_memory_search; to remember something for good, metaclaw_memory_store.",
];

export default {
  id: "metaclaw-memory",
  name: "MetaClaw memory slot",
  description: "Takes OpenClaw's memory slot for MetaClaw.",
  kind: "memory",
  register(api) {
    api.registerMemoryCapability({ promptBuilder: () => LINES });
  },
};
