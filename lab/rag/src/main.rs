//! Retrieval benchmark. `cargo run --release -p lab-rag` prints the tables and writes `lab/rag/RESULTS.md`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command that prints its tables")]

mod contender;
mod data;
mod measure;
mod shuffle;
fn main(){
    use secateur_rank::*; use contender::*; use std::path::Path;
    let f=Path::new("../shared/data/rag");
    let sets: Vec<_> = ["nq20","musique","hotpot"].iter().map(|n|(*n,data::questions(f,n).unwrap())).collect();
    let pool: Vec<data::CodeChunk>=data::lines(&f.join("code-chunks.jsonl.gz")).unwrap();
    let cq: Vec<data::CodeQuestion>=data::lines(&f.join("code-questions.jsonl.gz")).unwrap();
    let d=Weights::default();
    let mut cs=vec![Contender::Shuffled,Contender::Shortest,Contender::PlainBm25];
    let w=|n,w|Contender::Ours(n,Ranker::with_weights(Scorer::Lexical,w));
    let z=Weights{title:0.,nearness:0.,opening:0.,link:0.,neighbour:0.,meaning:0.};
    cs.push(w("bm25 ours",z)); cs.push(w("+title",Weights{title:0.3,..z}));cs.push(w("+near",Weights{nearness:0.2,..z}));cs.push(w("+link",Weights{link:0.6,..z}));cs.push(w("+nb",Weights{neighbour:0.15,..z}));
    cs.push(w("default",d));cs.push(w("-opening",Weights{opening:0.,..d}));cs.push(w("link1",Weights{link:1.0,..d}));cs.push(w("near.4",Weights{nearness:0.4,..d}));cs.push(w("title.6",Weights{title:0.6,..d}));cs.push(w("nb.3",Weights{neighbour:0.3,..d}));
    for c in &cs {
        print!("{:12}",c.name());
        for (n,s) in &sets { let r=measure::rank_questions(c,s,true); let f=measure::found(&r,&[1,3,5,10]); print!(" {n}"); for x in f.0 {print!(" {:.1}",x*100.);} let k=measure::kept(&r,&Rule::default()); print!(" [{:.0}/{:.0}]",k.dropped*100.,k.all_gold*100.);}
        let r=measure::rank_code(c,&pool,&cq,false); let f=measure::found(&r,&[5,10,20]); print!(" code"); for x in f.0 {print!(" {:.1}",x*100.);} let k=measure::kept(&r,&Rule::default()); println!(" [{:.0}/{:.0}]",k.dropped*100.,k.all_gold*100.);
    }
}
