// Preloaded into OpenClaw's Node: the host that the weixin plugin has built in is the stand-in's address.
const HOST = "https://ilinkai.weixin.qq.com";
const real = globalThis.fetch;
globalThis.fetch = (input, init) => {
  const url = typeof input === "string" ? input : (input?.url ?? String(input));
  return url.startsWith(HOST) ? real(process.env.WECHAT_STAND_IN + url.slice(HOST.length), init) : real(input, init);
};
