// What the official JavaScript SDKs get from an address: `node sdks.mjs ADDRESS PROTOCOL` prints it as JSON.
// The packages are those of the folder named by METACLAW_TEST_JS.
import { createRequire } from "node:module";

const [address, protocol] = process.argv.slice(2);
const load = createRequire(`${process.env.METACLAW_TEST_JS}/`);
const apiKey = "sk-upstream-key";
const model = "scripted-model";
const user = (content) => [{ role: "user", content }];
const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const named = { name: "weather", description: "The weather of a city." };

async function all(stream) {
  const seen = [];
  for await (const item of stream) seen.push(item);
  return seen;
}

async function chat(client) {
  const tools = [{ type: "function", function: { ...named, parameters: schema } }];
  const messages = user("weather?");
  const first = await client.chat.completions.create({ model, messages, tools });
  messages.push(first.choices[0].message);
  for (const call of first.choices[0].message.tool_calls) {
    messages.push({ role: "tool", tool_call_id: call.id, content: "sunny" });
  }
  const options = { stream: true, stream_options: { include_usage: true } };
  return {
    first,
    second: await client.chat.completions.create({ model, messages, tools }),
    stream: await all(await client.chat.completions.create({ model, messages: user("weather?"), tools, ...options })),
    completion: await client.completions.create({ model, prompt: "SAY:old style" }),
    embeddings: await client.embeddings.create({ model, input: ["one", "two"] }),
    refused: await client.chat.completions
      .create({ model, messages: user("too many") })
      .catch((error) => [error.status, error.message, error.headers.get("retry-after")]),
  };
}

async function responses(client) {
  const tools = [{ type: "function", ...named, parameters: schema, strict: false }];
  return {
    whole: await client.responses.create({ model, input: "weather?", tools }),
    stream: await all(await client.responses.create({ model, input: "weather?", tools, stream: true })),
  };
}

async function messages(client) {
  const tools = [{ ...named, input_schema: schema }];
  const asked = { model, max_tokens: 99, messages: user("weather?"), tools };
  return {
    whole: await client.messages.create(asked),
    stream: await all(await client.messages.create({ ...asked, stream: true })),
    counted: await client.messages.countTokens({ model, messages: user("how many?") }),
  };
}

const openai = () => new (load("openai"))({ baseURL: `${address}/v1`, apiKey, maxRetries: 0 });
const anthropic = () => new (load("@anthropic-ai/sdk"))({ baseURL: address, apiKey, maxRetries: 0 });
const run = {
  chat: () => chat(openai()),
  responses: () => responses(openai()),
  messages: () => messages(anthropic()),
}[protocol];
console.log(JSON.stringify(await run()));
