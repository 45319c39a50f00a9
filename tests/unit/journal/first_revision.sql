BEGIN TRANSACTION;
CREATE TABLE calls (
	id INTEGER NOT NULL, 
	session_id TEXT, 
	turn_id INTEGER, 
	kind TEXT DEFAULT '' NOT NULL, 
	side_reason TEXT DEFAULT '' NOT NULL, 
	upstream TEXT DEFAULT '' NOT NULL, 
	model TEXT DEFAULT '' NOT NULL, 
	started_at DOUBLE NOT NULL, 
	first_byte_ms DOUBLE, 
	duration_ms DOUBLE NOT NULL, 
	added_ms DOUBLE NOT NULL, 
	http_status BIGINT DEFAULT '0' NOT NULL, 
	status TEXT DEFAULT '' NOT NULL, 
	final BOOLEAN NOT NULL, 
	finish_reason TEXT DEFAULT '' NOT NULL, 
	error TEXT DEFAULT '' NOT NULL, 
	prompt BIGINT DEFAULT '0' NOT NULL, 
	cached BIGINT DEFAULT '0' NOT NULL, 
	cache_write BIGINT DEFAULT '0' NOT NULL, 
	completion BIGINT DEFAULT '0' NOT NULL, 
	injected_tokens BIGINT DEFAULT '0' NOT NULL, 
	request_id TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_calls PRIMARY KEY (id), 
	CONSTRAINT fk_calls_session_id FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE, 
	CONSTRAINT fk_calls_turn_id FOREIGN KEY(turn_id) REFERENCES turns (id) ON DELETE CASCADE
);
INSERT INTO "calls" VALUES(1,'talk',1,'main','','moonshot','kimi-k2',1790000010.0,NULL,1500.0,0.0,200,'ok',1,'stop','',100,60,10,20,0,'req-talk-1790000010.0');
INSERT INTO "calls" VALUES(2,'talk',2,'main','','moonshot','kimi-k2',1790000020.0,NULL,1500.0,0.0,503,'error',1,'stop','overloaded',0,0,0,0,0,'req-talk-1790000020.0');
CREATE TABLE cursors (
	reader TEXT NOT NULL, 
	position BIGINT NOT NULL, 
	CONSTRAINT pk_cursors PRIMARY KEY (reader)
);
INSERT INTO "cursors" VALUES('skills',2);
CREATE TABLE events (
	id INTEGER NOT NULL, 
	kind TEXT DEFAULT '' NOT NULL, 
	session_id TEXT DEFAULT '' NOT NULL, 
	turn_id INTEGER, 
	payload TEXT DEFAULT '' NOT NULL, 
	at DOUBLE NOT NULL, 
	CONSTRAINT pk_events PRIMARY KEY (id)
);
INSERT INTO "events" VALUES(1,'session_started','talk',NULL,'{"claw":"openclaw","protocol":"chat","model":"kimi-k2","scope":""}',1790000000.0);
INSERT INTO "events" VALUES(2,'turn','talk',1,'{"status":"ok","number":1}',1790000011.5);
INSERT INTO "events" VALUES(3,'turn','talk',2,'{"status":"error","number":2}',1790000021.5);
INSERT INTO "events" VALUES(4,'session_ended','talk',NULL,'{"reason":"idle","turns":2}',1790000099.0);
CREATE TABLE injections (
	session_id TEXT NOT NULL, 
	anchor BLOB NOT NULL, 
	turn_id INTEGER NOT NULL, 
	block TEXT DEFAULT '' NOT NULL, 
	items TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_injections PRIMARY KEY (session_id, anchor), 
	CONSTRAINT fk_injections_session_id FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);
INSERT INTO "injections" VALUES('talk',X'F96E83EA1E5DAFBC164A7FCCA10D732D',1,'<recalled>Use git branch -m.</recalled>','[{"kind":"skill","name":"git","version":"1","score":0.7,"tokens":9}]');
CREATE TABLE journal_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT journal_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "journal_version" VALUES('0001');
CREATE TABLE messages (
	id INTEGER NOT NULL, 
	session_id TEXT NOT NULL, 
	turn_id INTEGER, 
	role TEXT DEFAULT '' NOT NULL, 
	body BLOB NOT NULL, 
	text TEXT DEFAULT '' NOT NULL, 
	digest BLOB NOT NULL, 
	chain BLOB NOT NULL, 
	CONSTRAINT pk_messages PRIMARY KEY (id), 
	CONSTRAINT uq_messages_chain_session_id UNIQUE (chain, session_id), 
	CONSTRAINT fk_messages_session_id FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE, 
	CONSTRAINT fk_messages_turn_id FOREIGN KEY(turn_id) REFERENCES turns (id) ON DELETE SET NULL
);
INSERT INTO "messages" VALUES(1,'talk',1,'user',X'7B22726F6C65223A202275736572222C2022636F6E74656E74223A20226F6E65227D','one',X'C88D4DF74262143A08E9D190E3BD67F1',X'9713A2D229E5BF3B87CF62A7EAB6C120');
INSERT INTO "messages" VALUES(2,'talk',1,'assistant',X'7B22726F6C65223A2022617373697374616E74222C2022636F6E74656E74223A202241626F7574206F6E653A20736F2E227D','About one: so.',X'067EB9B70CE58ED816081EC8E1FCB825',X'F96E83EA1E5DAFBC164A7FCCA10D732D');
INSERT INTO "messages" VALUES(3,'talk',2,'user',X'7B22726F6C65223A202275736572222C2022636F6E74656E74223A202274776F227D','two',X'D681734F8C454B90DF4D5FEEA7487445',X'BE705D6D6397131435F7F949EABA51D4');
CREATE TABLE numbering (
	id INTEGER NOT NULL, 
	turn BIGINT DEFAULT '0' NOT NULL, 
	event BIGINT DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_numbering PRIMARY KEY (id)
);
INSERT INTO "numbering" VALUES(1,2,4);
CREATE TABLE sessions (
	id TEXT NOT NULL, 
	client_id TEXT DEFAULT '' NOT NULL, 
	claw TEXT DEFAULT '' NOT NULL, 
	user_id TEXT DEFAULT '' NOT NULL, 
	workspace_id TEXT DEFAULT '' NOT NULL, 
	scope TEXT DEFAULT '' NOT NULL, 
	protocol TEXT DEFAULT '' NOT NULL, 
	model TEXT DEFAULT '' NOT NULL, 
	opening BLOB NOT NULL, 
	head BLOB NOT NULL, 
	started_at DOUBLE NOT NULL, 
	last_at DOUBLE NOT NULL, 
	ended_at DOUBLE, 
	end_reason TEXT DEFAULT '' NOT NULL, 
	turns BIGINT DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_sessions PRIMARY KEY (id)
);
INSERT INTO "sessions" VALUES('talk','','openclaw','','','','chat','kimi-k2',X'46FB7408D4F285228F4AF516EA25851B',X'BE705D6D6397131435F7F949EABA51D4',1790000000.0,1790000021.5,1790000099.0,'idle',2);
CREATE TABLE turns (
	id INTEGER NOT NULL, 
	session_id TEXT NOT NULL, 
	"key" BLOB NOT NULL, 
	number BIGINT DEFAULT '0' NOT NULL, 
	status TEXT DEFAULT '' NOT NULL, 
	reported TEXT DEFAULT '' NOT NULL, 
	user_text TEXT DEFAULT '' NOT NULL, 
	answer_text TEXT DEFAULT '' NOT NULL, 
	model TEXT DEFAULT '' NOT NULL, 
	started_at DOUBLE NOT NULL, 
	finished_at DOUBLE, 
	calls BIGINT DEFAULT '0' NOT NULL, 
	recalled TEXT DEFAULT '' NOT NULL, 
	prompt BIGINT DEFAULT '0' NOT NULL, 
	cached BIGINT DEFAULT '0' NOT NULL, 
	cache_write BIGINT DEFAULT '0' NOT NULL, 
	completion BIGINT DEFAULT '0' NOT NULL, 
	error TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_turns PRIMARY KEY (id), 
	CONSTRAINT uq_turns_session_id_key UNIQUE (session_id, "key"), 
	CONSTRAINT fk_turns_session_id FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);
INSERT INTO "turns" VALUES(1,'talk',X'93C7EB61CED930F634E2FEF2FD0BDC5C',1,'ok','ok','one','About one: so.','kimi-k2',1790000010.0,1790000011.5,1,'[{"kind":"skill","name":"git","version":"1","score":0.7,"tokens":9}]',100,60,10,20,'');
INSERT INTO "turns" VALUES(2,'talk',X'AC85689EB450BAF7F7A9CA46EC7DA615',2,'error','error','two','','kimi-k2',1790000020.0,1790000021.5,1,'[]',0,0,0,0,'overloaded');
CREATE INDEX ix_sessions_last_at ON sessions (last_at);
CREATE INDEX ix_sessions_ended_at_last_at ON sessions (ended_at, last_at);
CREATE INDEX ix_sessions_opening ON sessions (opening);
CREATE INDEX ix_events_kind_id ON events (kind, id);
CREATE INDEX ix_turns_session_id_number ON turns (session_id, number);
CREATE INDEX ix_messages_turn_id ON messages (turn_id);
CREATE INDEX ix_messages_session_id_id ON messages (session_id, id);
CREATE INDEX ix_calls_turn_id ON calls (turn_id);
CREATE INDEX ix_calls_session_id ON calls (session_id);
COMMIT;
